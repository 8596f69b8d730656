/// What a plan chooses where it is not told: alike on every rank, from what they have agreed on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace allscan {

/// Blocks of the pipelined chain that balance latency and bandwidth, K = sqrt((P-1) * m / (a * B)), where a * B, the bytes that
/// a link moves in the time one message takes to start, is fixed at 64 KiB: chosen from measurements on one host, not tuned to
/// a machine. P-1 and not the P-2 of docs/algorithms.md, for the last rank folds while it receives.
[[nodiscard]] inline std::size_t choose_blocks(int ranks, std::size_t state_bytes) {
  constexpr double bytes_per_latency = 65536;
  const double balanced = std::sqrt(static_cast<double>(ranks - 1) * static_cast<double>(state_bytes) / bytes_per_latency);
  return std::clamp<std::size_t>(static_cast<std::size_t>(balanced), 1, 64);
}

}  // namespace allscan
