#include <allscan/allscan.hpp>

#include <atomic>
#include <cstdio>
#include <vector>

/// Without decay a rank hands on the sum of the states up to its own.
int main() {
  std::atomic<int> right = 0;
  allscan::thread::run(3, [&](allscan::thread::communicator comm) {
    const std::vector<float> state{1, 2, 3, 4};
    const std::vector<float> log_decay{0, 0};
    std::vector<float> carry(4, -1);
    allscan::scan_plan plan{comm, allscan::gla<float>{}, allscan::state_shape{.key_dim = 2, .value_dim = 2}};
    plan.exclusive_scan({.state = state, .log_decay = log_decay}, carry);
    const auto rank = static_cast<float>(comm.rank());
    right += carry == std::vector<float>{rank * 1, rank * 2, rank * 3, rank * 4} ? 1 : 0;
  });
  std::printf("allscan %d: %d of 3 ranks are right\n", ALLSCAN_VERSION, right.load());
  return right == 3 ? 0 : 1;
}
