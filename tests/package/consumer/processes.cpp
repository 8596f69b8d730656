#include <allscan/allscan.hpp>
#include <allscan/transport/mpi.hpp>
#include <mpi.h>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  bool right = true;
  {
    allscan::mpi::communicator comm{MPI_COMM_WORLD};
    const std::vector<float> state{1, 2, 3, 4};
    const std::vector<float> log_decay{0, 0};
    std::vector<float> outgoing(4, -1);
    allscan::scan_plan plan{comm, allscan::gla<float>{}, allscan::state_shape{.key_dim = 2, .value_dim = 2}};
    plan.inclusive_scan({.state = state, .log_decay = log_decay}, outgoing);
    for (std::size_t i = 0; i < state.size(); ++i) {
      right = right && outgoing[i] == static_cast<float>(comm.rank() + 1) * state[i];
    }
  }
  MPI_Finalize();
  std::printf("allscan %d over MPI: %s\n", ALLSCAN_VERSION, right ? "ok" : "wrong");
  return right ? 0 : 1;
}
