/// What a plan chooses where it is not told: alike on every rank, from what they have agreed on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace allscan {

/// Blocks of the pipelined chain that balance latency and bandwidth, K = sqrt((P-2) * m / (a * B)) (docs/algorithms.md), with
/// a * B, the bytes that a link moves in the time one message takes to start, fixed at 32 KiB for ranks of one host.
[[nodiscard]] inline std::size_t choose_blocks(int ranks, std::size_t state_bytes) {
  constexpr double bytes_per_latency = 32768;
  const double balanced =
      std::sqrt(static_cast<double>(std::max(ranks - 2, 0)) * static_cast<double>(state_bytes) / bytes_per_latency);
  return std::clamp<std::size_t>(static_cast<std::size_t>(balanced), 1, 64);
}

}  // namespace allscan
