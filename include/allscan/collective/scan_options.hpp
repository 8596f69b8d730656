/// What a scan plan can be told. Every field has a default.
#pragma once

#include <allscan/collective/workspace.hpp>
#include <allscan/core/deadline.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace allscan {

/// The order over ranks. Not the adjoint: a bidirectional model scans in reverse without transposing anything.
enum class direction { forward, reverse };

enum class algorithm {
  automatic,  ///< the plan chooses, alike on every rank: the chain
  chain,      ///< one state a boundary, pipelined in blocks
  gather,     ///< every rank's summary to every rank, then a local fold (the baseline)
};

[[nodiscard]] constexpr std::string_view to_string(direction d) { return d == direction::forward ? "forward" : "reverse"; }
[[nodiscard]] constexpr std::string_view to_string(algorithm a) {
  return a == algorithm::automatic ? "automatic" : a == algorithm::chain ? "chain" : "gather";
}

/// Equal on every rank, but for `timeout` and `workspace`.
struct scan_options {
  std::size_t blocks = 0;  ///< pipeline steps a state is cut into, at most one a unit and 65536; 0: the plan chooses
  enum direction direction = direction::forward;
  enum algorithm algorithm = algorithm::automatic;
  bool deterministic = false;           ///< only algorithms that fold strictly left to right, as those above do
  std::optional<seconds> timeout = {};  ///< how long a silent peer is waited for; 0: for ever. Default: ALLSCAN_TIMEOUT
  std::shared_ptr<scan_workspace> workspace = {};  ///< shared with other plans of this rank; default: the plan's own
};

}  // namespace allscan
