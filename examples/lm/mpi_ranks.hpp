/// Ranks as the processes of mpirun.
#pragma once

#include <allscan/transport/mpi.hpp>

#include <cstdlib>
#include <span>
#include <type_traits>

namespace lm {

/// Initialises MPI for the life of the object.
class mpi_session {
 public:
  mpi_session() { MPI_Init(nullptr, nullptr); }
  mpi_session(const mpi_session&) = delete;
  mpi_session& operator=(const mpi_session&) = delete;
  ~mpi_session() { MPI_Finalize(); }

  [[nodiscard]] int rank() const {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
  }
  [[nodiscard]] int size() const {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
  }
  /// Ends all processes: after a failure of one, the others would wait for it.
  [[noreturn]] static void abort() {
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
  }
  /// Processes on this machine. Collective.
  [[nodiscard]] int neighbours() const {
    MPI_Comm machine = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    int size = 0;
    MPI_Comm_size(machine, &size);
    MPI_Comm_free(&machine);
    return size;
  }
};

/// Outlived by the session.
class mpi_ranks {
 public:
  [[nodiscard]] int rank() const { return comm_.rank(); }
  [[nodiscard]] int size() const { return comm_.size(); }
  [[nodiscard]] const allscan::mpi::communicator& communicator() const { return comm_; }

  template <class T>
  void sum(std::span<T> values) const {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
    MPI_Datatype type = std::is_same_v<T, float> ? MPI_FLOAT : MPI_DOUBLE;
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), type, MPI_SUM, MPI_COMM_WORLD);
  }

 private:
  allscan::mpi::communicator comm_{MPI_COMM_WORLD};
};

}  // namespace lm
