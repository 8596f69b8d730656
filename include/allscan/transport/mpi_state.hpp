/// What stands behind an MPI communicator of mpi.hpp: checks, the duplicate, and the state its handles share.
#pragma once

#include <allscan/core/deadline.hpp>
#include <allscan/core/endpoint.hpp>
#include <allscan/core/environment.hpp>
#include <allscan/core/error.hpp>

// The C++ bindings, removed in MPI 3.0, stay out: they need a library of their own.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>

namespace allscan::mpi {

struct options {
  /// How long the others may take to construct theirs; default ALLSCAN_TIMEOUT, 0 = for ever.
  std::optional<seconds> timeout = {};
  /// Larger messages travel as blocks of 1 MiB and a rest, since an MPI count is an int. The same on all ranks;
  /// lower it only to test that.
  std::size_t split_above = static_cast<std::size_t>(std::numeric_limits<int>::max());
};

namespace detail {

inline constexpr std::size_t block_bytes = std::size_t{1} << 20;
inline constexpr std::size_t largest_message = block_bytes * static_cast<std::size_t>(std::numeric_limits<int>::max());

[[noreturn]] inline void fail(int code, const char* call, int rank, int peer) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw transport_error(std::string{call} + " failed on rank " + std::to_string(rank) +
                            (peer < 0 ? std::string{} : " towards rank " + std::to_string(peer)) + " with code " +
                            std::to_string(code) + ": " + text,
                        code, rank, peer);
}

inline void check(int code, const char* call, int rank, int peer = -1) {
  if (code != MPI_SUCCESS) fail(code, call, rank, peer);
}

[[nodiscard]] inline bool finalized() {
  int flag = 0;
  MPI_Finalized(&flag);
  return flag != 0;
}

/// @throws invalid_argument where the calling thread may not call MPI.
inline void check_thread(int level) {
  int is_main = 0;
  if (level >= MPI_THREAD_SERIALIZED || (MPI_Is_thread_main(&is_main) == MPI_SUCCESS && is_main != 0)) return;
  throw invalid_argument(
      "this thread is not the one that initialised MPI: call MPI_Init_thread with MPI_THREAD_SERIALIZED or more to use allscan "
      "from it");
}

[[nodiscard]] inline int thread_level() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  return level;
}

/// Everything that can be told about a communicator without communicating.
/// @throws invalid_argument if it cannot be used.
inline void check_usable(MPI_Comm comm) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized == 0) throw invalid_argument("MPI is not initialised: call MPI_Init before constructing a communicator");
  if (finalized()) throw invalid_argument("MPI is already finalised: construct communicators before MPI_Finalize");
  check_thread(thread_level());
  if (comm == MPI_COMM_NULL) {
    throw invalid_argument("the communicator is MPI_COMM_NULL: this rank is in no group, so let it take no part");
  }
  int inter = 0;
  check(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter", -1);
  if (inter != 0) {
    throw invalid_argument("the communicator is an intercommunicator, in which ranks have no one order: merge it first");
  }
}

/// What the copies of a handle share.
struct state {
  state(MPI_Comm c, std::size_t split) : comm{c}, split_above{std::min(split, options{}.split_above)} {
    check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank", -1);
    check(MPI_Comm_size(comm, &size), "MPI_Comm_size", rank);
    void* bound = nullptr;
    int found = 0;
    check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&bound), &found), "MPI_Comm_get_attr", rank);
    if (found != 0) largest_tag = *static_cast<int*>(bound);
    check(MPI_Type_contiguous(static_cast<int>(block_bytes), MPI_BYTE, &block), "MPI_Type_contiguous", rank);
    check(MPI_Type_commit(&block), "MPI_Type_commit", rank);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() {
    if (!finalized()) MPI_Type_free(&block);  // local
  }

  MPI_Comm comm;
  std::size_t split_above;
  int rank = -1;
  int size = 0;
  int level = thread_level();
  int largest_tag = 32767;  // what MPI guarantees
  MPI_Datatype block = MPI_DATATYPE_NULL;
  allscan::endpoint endpoint;
};

/// @throws timeout_error, after which `original` carries an unfinished collective.
[[nodiscard]] inline MPI_Comm duplicate(MPI_Comm original, const options& o) {
  check_usable(original);
  const deadline until{o.timeout ? *o.timeout : seconds{environment::get_seconds(environment::timeout)}};
  int rank = -1;
  check(MPI_Comm_rank(original, &rank), "MPI_Comm_rank", -1);
  const auto copy = std::make_shared<MPI_Comm>(MPI_COMM_NULL);
  MPI_Request pending = MPI_REQUEST_NULL;
  check(MPI_Comm_idup(original, copy.get(), &pending), "MPI_Comm_idup", rank);
  int done = 0;
  for (backoff wait;; wait.pause()) {
    check(MPI_Test(&pending, &done, MPI_STATUS_IGNORE), "MPI_Test of MPI_Comm_idup", rank);
    if (done != 0) break;
    if (until.expired()) {
      keep_until_exit(copy);  // MPI may still write to it
      char waited[32];
      std::snprintf(waited, sizeof waited, "%g", until.timeout().count());
      throw timeout_error("rank " + std::to_string(rank) + " waited " + waited +
                              " s for the other ranks to construct their mpi::communicator: every rank of the communicator "
                              "passed in must. It now carries an unfinished collective (MPI_Comm_idup) and must not be used "
                              "for collectives again; Open MPI cannot make further communicators either",
                          rank, -1);
    }
  }
  check(MPI_Comm_set_errhandler(*copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", rank);
  return *copy;
}

/// The state of a borrowed communicator, cached on it so that all handles on it count channels together; freed with it.
[[nodiscard]] inline std::shared_ptr<state> cached(MPI_Comm comm) {
  check_usable(comm);
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(
              MPI_COMM_NULL_COPY_FN,
              [](MPI_Comm, int, void* value, void*) {
                delete static_cast<std::shared_ptr<state>*>(value);
                return MPI_SUCCESS;
              },
              &made, nullptr),
          "MPI_Comm_create_keyval", -1);
    return made;
  }();
  void* value = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(comm, key, static_cast<void*>(&value), &found), "MPI_Comm_get_attr", -1);
  if (found != 0) return *static_cast<std::shared_ptr<state>*>(value);
  auto owner = std::make_unique<std::shared_ptr<state>>(std::make_shared<state>(comm, options{}.split_above));
  check(MPI_Comm_set_attr(comm, key, owner.get()), "MPI_Comm_set_attr", (*owner)->rank);
  return *owner.release();
}

}  // namespace detail

}  // namespace allscan::mpi
