/// Ranks of an MPI communicator. Needs MPI 3.1.
///
///   allscan::mpi::communicator comm{MPI_COMM_WORLD};   // collective: works on a duplicate, so that nothing of yours is hit
///   allscan::mpi::communicator_ref comm{mine};         // local: works on a communicator made for allscan alone
///
/// Who calls what: every rank of the communicator passed in constructs `communicator`, once; copies are cheap and share
/// everything. A duplicate is left to MPI_Finalize, since freeing it is collective: destructors never wait, and are safe after
/// MPI_Finalize. Intercommunicators are refused. Attributes with a copy function are copied, as MPI_Comm_idup prescribes.
///
/// Threads: all use by the main thread needs no thread level (MPI_Init will do); use by another thread needs at least
/// MPI_THREAD_SERIALIZED from MPI_Init_thread, and the caller sees to it that one thread at a time is inside MPI. Checked at
/// construction and whenever a message is started.
///
/// Cost: a message is one MPI_Isend or MPI_Irecv; above 2^31 - 1 bytes (options::split_above) it is two. The channel number is
/// the tag.
///
/// Errors: transport_error with the MPI call, its code and text. A duplicate returns errors (MPI_ERRORS_RETURN); on a
/// borrowed communicator and while duplicating, the caller's own error handler decides, and MPI's default one aborts.
#pragma once

#include <allscan/core/concepts.hpp>
#include <allscan/core/deadline.hpp>
#include <allscan/core/endpoint.hpp>
#include <allscan/core/error.hpp>
#include <allscan/transport/mpi_state.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace allscan::mpi {

/// One message of one side. Not to be destroyed while started, unless its memory is kept for good.
class request {
 public:
  request() = default;
  request(const request&) = delete;
  request& operator=(const request&) = delete;

 private:
  friend class communicator_ref;

  struct part {
    MPI_Request handle = MPI_REQUEST_NULL;
    std::size_t bytes = 0;
  };
  std::array<part, 2> parts_;  // whole blocks, if any; the rest
  const std::byte* data_ = nullptr;
  int peer_ = 0;
  bool is_receive_ = false;
};

/// A communicator that the caller has made for allscan alone, on which nobody else sends, receives or calls collectives. The
/// caller frees it, after the last handle's last message. Local to construct; its error handler is left as it is.
class communicator_ref {
 public:
  using request = mpi::request;

  explicit communicator_ref(MPI_Comm comm) : state_{detail::cached(comm)} {}

  [[nodiscard]] int rank() const noexcept { return state_->rank; }
  [[nodiscard]] int size() const noexcept { return state_->size; }
  [[nodiscard]] std::string_view name() const noexcept { return "mpi"; }
  [[nodiscard]] allscan::endpoint& endpoint() noexcept { return state_->endpoint; }
  /// What messages travel on.
  [[nodiscard]] MPI_Comm native() const noexcept { return state_->comm; }

  void send(std::uint32_t channel, int peer, const std::byte* data, std::size_t bytes, request& r) {
    start(channel, peer, bytes, r, "MPI_Isend", [&](std::size_t offset, int count, MPI_Datatype type, int tag, MPI_Request* h) {
      return MPI_Isend(at(data, offset), count, type, peer, tag, state_->comm, h);
    });
    r.data_ = data;
    r.is_receive_ = false;
  }
  void receive(std::uint32_t channel, int peer, std::byte* data, std::size_t bytes, request& r) {
    start(channel, peer, bytes, r, "MPI_Irecv", [&](std::size_t offset, int count, MPI_Datatype type, int tag, MPI_Request* h) {
      return MPI_Irecv(at(data, offset), count, type, peer, tag, state_->comm, h);
    });
    r.data_ = data;
    r.is_receive_ = true;
  }

  /// @throws transport_error also from a receive whose message had another size; what then is in its memory is unspecified.
  [[nodiscard]] bool test(request& r) {
    bool all = true;
    for (request::part& each : r.parts_) {
      if (each.handle == MPI_REQUEST_NULL) continue;
      int done = 0;
      MPI_Status status;
      detail::check(MPI_Test(&each.handle, &done, &status), "MPI_Test", rank(), r.peer_);
      all = all && done != 0;
      if (done != 0 && r.is_receive_) check_size(status, each.bytes, r.peer_);
    }
    return all;
  }
  [[nodiscard]] const std::byte* data(const request& r) const noexcept { return r.data_; }
  void release(request&) noexcept {}

  /// A send cannot be withdrawn, and MPI may not let go of a receive that has been matched: then false.
  [[nodiscard]] bool cancel(request& r) noexcept {
    bool all = true;
    for (request::part& each : r.parts_) {
      if (each.handle == MPI_REQUEST_NULL) continue;
      if (r.is_receive_ && MPI_Cancel(&each.handle) != MPI_SUCCESS) all = false;
    }
    const deadline moment{seconds{0.02}};
    for (request::part& each : r.parts_) {
      for (backoff wait; each.handle != MPI_REQUEST_NULL; wait.pause()) {
        int done = 0;
        if (MPI_Test(&each.handle, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) all = false;
        if (done == 0 && (!all || !r.is_receive_ || moment.expired())) break;
      }
      all = all && each.handle == MPI_REQUEST_NULL;
    }
    return all;
  }

 protected:
  explicit communicator_ref(std::shared_ptr<detail::state> state) : state_{std::move(state)} {}

 private:
  template <class Byte>
  static Byte* at(Byte* data, std::size_t offset) {
    return offset == 0 ? data : data + offset;  // data may be null where there are no bytes
  }

  template <class Call>
  void start(std::uint32_t channel, int peer, std::size_t bytes, request& r, const char* name, Call call) {
    detail::check_thread(state_->level);
    if (peer < 0 || peer >= size()) {
      throw invalid_argument("rank " + std::to_string(rank()) + " names peer " + std::to_string(peer) + " in a group of " +
                             std::to_string(size()) + " ranks: pass a rank from 0 to " + std::to_string(size() - 1));
    }
    if (channel > static_cast<std::uint32_t>(state_->largest_tag)) {
      throw invalid_argument("rank " + std::to_string(rank()) + " opened channel " + std::to_string(channel) +
                             ", but this MPI allows tags up to " + std::to_string(state_->largest_tag) +
                             ": construct a new communicator, or fewer plans on one");
    }
    if (bytes > detail::largest_message) {
      throw invalid_argument("a message of " + std::to_string(bytes) + " bytes towards rank " + std::to_string(peer) +
                             " is larger than an MPI message can be (2^51 bytes): scan in more blocks");
    }
    if (r.parts_[0].handle != MPI_REQUEST_NULL || r.parts_[1].handle != MPI_REQUEST_NULL) {
      throw invalid_argument("rank " + std::to_string(rank()) + " starts a request towards rank " + std::to_string(peer) +
                             " that is still in use: wait until it is done");
    }
    const int tag = static_cast<int>(channel);
    const std::size_t blocks = bytes > state_->split_above ? bytes / detail::block_bytes : 0;
    const std::size_t head = blocks * detail::block_bytes;
    const std::size_t rest = bytes - head;
    r.peer_ = peer;
    r.parts_[0].bytes = head;
    r.parts_[1].bytes = rest;
    if (blocks != 0) {
      detail::check(call(0, static_cast<int>(blocks), state_->block, tag, &r.parts_[0].handle), name, rank(), peer);
    }
    detail::check(call(head, static_cast<int>(rest), MPI_BYTE, tag, &r.parts_[1].handle), name, rank(), peer);
  }

  void check_size(const MPI_Status& status, std::size_t bytes, int peer) const {
    MPI_Count received = 0;
    detail::check(MPI_Get_elements_x(&status, MPI_BYTE, &received), "MPI_Get_elements_x", rank(), peer);
    if (received == static_cast<MPI_Count>(bytes)) return;
    throw transport_error("rank " + std::to_string(rank()) + " expected " + std::to_string(bytes) + " bytes from rank " +
                              std::to_string(peer) + ", which sent " + std::to_string(received) +
                              ": make both ranks pass the same size",
                          MPI_ERR_COUNT, rank(), peer);
  }

  std::shared_ptr<detail::state> state_;
};

/// A communicator with the ranks of the one passed in, and a life of its own. Collective over that one's ranks.
class communicator : public communicator_ref {
 public:
  /// @throws invalid_argument, before any communication, if MPI or the communicator cannot be used.
  /// @throws timeout_error if a rank does not construct its own in time. The communicator passed in then carries an unfinished
  ///         collective and must not be used for collectives again. Open MPI numbers communicators one after the other, so
  ///         that no further one can be made on these ranks; a communicator_ref to one made before still works.
  explicit communicator(MPI_Comm original, const options& o = {})
      : communicator_ref{std::make_shared<detail::state>(detail::duplicate(original, o), o.split_above)} {}
};

}  // namespace allscan::mpi
