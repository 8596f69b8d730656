/// Ranks that are MPI processes.
#include "mpi_baselines.hpp"
#include "run.hpp"
#include "scans.hpp"

#include <allscan/transport/mpi.hpp>

#include <cstdint>
#include <exception>
#include <string>

namespace scan_perf {
namespace {

class mpi_team final : public team {
 public:
  explicit mpi_team(MPI_Comm comm) : comm_{comm} {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  void barrier() override { MPI_Barrier(comm_); }
  void maximum(std::span<double> values) override {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX, comm_);
  }
  [[nodiscard]] std::uint64_t sum(std::uint64_t value) override {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_SUM, comm_);
    return value;
  }

 private:
  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace

int run_mpi(int argc, char** argv, const options& chosen) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int status = 1;
  try {
    mpi_team ranks{MPI_COMM_WORLD};
    MPI_Comm positions = MPI_COMM_NULL;  // ranks in the direction of the scan
    MPI_Comm_split(MPI_COMM_WORLD, 0, chosen.reverse ? ranks.size() - 1 - ranks.rank() : ranks.rank(), &positions);
    const allscan::mpi::communicator comm{MPI_COMM_WORLD};
    const auto baselines = [&](const allscan::state_shape& shape, scan_name scan) {
      return mpi_baselines(positions, layout_of(chosen.kind, shape), scan);
    };
    const auto scans = [&](const allscan::state_shape& shape, scan_name scan) { return make_scans(comm, chosen, shape, scan); };
    status = run(chosen, ranks, std::string{comm.name()}, baselines, scans);
    MPI_Comm_free(&positions);
  } catch (const std::exception& fault) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    complain(rank, fault);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}

}  // namespace scan_perf
