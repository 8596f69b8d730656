/// Ranks that are threads of this process.
#include "run.hpp"
#include "scans.hpp"

#include <allscan/core/deadline.hpp>
#include <allscan/transport/thread.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

namespace scan_perf {
namespace {

/// What the threads of one run share.
class meeting_place {
 public:
  explicit meeting_place(int ranks) : values_(static_cast<std::size_t>(ranks)), counts_(static_cast<std::size_t>(ranks)) {}

  /// Polls instead of sleeping in the kernel, whose wake-ups would be timed along with what follows.
  void barrier() {
    const unsigned round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == counts_.size()) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    allscan::backoff idle;
    while (round_.load(std::memory_order_acquire) == round) idle.pause();
  }

  std::vector<std::vector<double>>& values() { return values_; }
  std::vector<std::uint64_t>& counts() { return counts_; }

 private:
  std::atomic<std::size_t> arrived_ = 0;
  std::atomic<unsigned> round_ = 0;
  std::vector<std::vector<double>> values_;
  std::vector<std::uint64_t> counts_;
};

class thread_team final : public team {
 public:
  thread_team(meeting_place& place, int rank) : place_{place}, rank_{rank} {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(place_.counts().size()); }
  void barrier() override { place_.barrier(); }
  void maximum(std::span<double> values) override {
    place_.values()[static_cast<std::size_t>(rank_)].assign(values.begin(), values.end());
    place_.barrier();
    for (const auto& others : place_.values()) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::max(values[i], others[i]);
    }
    place_.barrier();
  }
  [[nodiscard]] std::uint64_t sum(std::uint64_t value) override {
    place_.counts()[static_cast<std::size_t>(rank_)] = value;
    place_.barrier();
    std::uint64_t total = 0;
    for (const std::uint64_t each : place_.counts()) total += each;
    place_.barrier();
    return total;
  }

 private:
  meeting_place& place_;
  int rank_;
};

}  // namespace

int run_threads(const options& chosen) {
  meeting_place place{chosen.threads};
  int status = 1;
  const auto one_rank = [&](const allscan::thread::communicator& comm) {
    try {
      thread_team ranks{place, comm.rank()};
      const auto no_baselines = [](const allscan::state_shape&, scan_name) { return contender_list{}; };
      const auto scans = [&](const allscan::state_shape& shape, scan_name scan) {
        return make_scans(comm, chosen, shape, scan);
      };
      const int own = run(chosen, ranks, std::string{comm.name()}, no_baselines, scans);
      if (ranks.root()) status = own;
    } catch (const std::exception& fault) {
      complain(comm.rank(), fault);
      std::_Exit(1);  // the other ranks wait for this one and would never end
    }
  };
  allscan::thread::run(chosen.threads, one_rank, {.windows = chosen.windows});
  return status;
}

}  // namespace scan_perf
