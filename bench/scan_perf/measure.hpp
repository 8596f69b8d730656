/// Interleaved timing: every iteration runs each contender once, so that a slow spell of the machine meets all of them alike.
#pragma once

#include "contender.hpp"
#include "team.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace scan_perf {

using samples = std::vector<double>;  // microseconds, one an iteration, each the maximum over the ranks

/// The order within an iteration is shuffled, alike on every rank, so that no contender always follows the same other one.
/// A barrier stands before each run; what a rank measures starts when it leaves that barrier. Result [contender][iteration].
[[nodiscard]] std::vector<samples> measure(team& ranks, const std::vector<std::unique_ptr<contender>>& contenders,
                                           std::size_t warmup, std::size_t iterations);

struct statistics {
  double median = 0;
  double minimum = 0;
  double maximum = 0;
};

[[nodiscard]] statistics summarize(const samples& values);

/// Median over the iterations of ours / baseline.
[[nodiscard]] double paired_ratio(const samples& ours, const samples& baseline);

}  // namespace scan_perf
