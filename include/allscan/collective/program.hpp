/// A scan algorithm, written down: what one position sends, receives, folds and delivers.
///
/// Positions are ranks counted in the scan's direction, so no algorithm knows about reverse. Buffers are single-assignment
/// names for whole states (with their transition, where one was received); a step works on the units of one block, and reads
/// what exactly one earlier step wrote. The order of steps is a legal serial order; an executor may run a step as soon as
/// what it reads is there, but keeps the order of messages between two positions.
#pragma once

#include <allscan/core/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace allscan {

/// What this position's caller asked for. Positions may differ.
struct scan_request {
  bool carry = false;          ///< the state before the first token (exclusive prefix)
  bool outgoing = false;       ///< the state after the last token (inclusive prefix)
  bool initial_carry = false;  ///< a state before the first position's first token was given (first position only)
};

using buffer = int;
inline constexpr buffer no_buffer = -1;
inline constexpr buffer local_summary = 0;   ///< this position's own state and transition
inline constexpr buffer initial_carry = 1;   ///< given by the caller, first position only
inline constexpr buffer identity_state = 2;  ///< the combiner's state before any token
inline constexpr buffer first_free_buffer = 3;

enum class operation : std::uint8_t {
  send,     ///< `in` to `peer`
  receive,  ///< `out` from `peer`
  fold,     ///< out = A * in + S, with (A, S) from `summary`
  deliver,  ///< `in` becomes the result `to`
};
enum class payload : std::uint8_t { state, transition };
enum class result : std::uint8_t { carry, outgoing };

struct step {
  operation what = operation::send;
  payload carries = payload::state;  ///< of a message; a transition is that of all units
  result to = result::carry;         ///< of a delivery
  int peer = -1;                     ///< position at the other end of a message
  std::size_t block = 0;             ///< for people: which block of the pipeline this is
  unit_range units = {};
  buffer in = no_buffer;
  buffer summary = no_buffer;
  buffer out = no_buffer;
};

struct program {
  std::string_view algorithm = {};
  int position = 0;
  int size = 1;
  std::size_t units = 0;  ///< of the whole state
  std::vector<step> steps = {};
  /// Storage of each buffer from first_free_buffer on. Two buffers may share one where every reader of the first comes
  /// before the writer of the second through what the steps read, not only by their order.
  std::vector<int> storage = {};

  [[nodiscard]] int storages() const {
    int count = 0;
    for (const int s : storage) count = s >= count ? s + 1 : count;
    return count;
  }
  [[nodiscard]] int storage_of(buffer b) const { return storage[static_cast<std::size_t>(b - first_free_buffer)]; }

  // How algorithms write their steps.

  [[nodiscard]] buffer new_buffer(int in_storage) {
    storage.push_back(in_storage);
    return first_free_buffer + static_cast<buffer>(storage.size()) - 1;
  }
  void send(int peer, buffer in, unit_range range, std::size_t block) {
    steps.push_back({.what = operation::send, .peer = peer, .block = block, .units = range, .in = in});
  }
  void receive(int peer, buffer out, unit_range range, std::size_t block) {
    steps.push_back({.what = operation::receive, .peer = peer, .block = block, .units = range, .out = out});
  }
  void send_transition(int peer, buffer in) {
    steps.push_back({.what = operation::send, .carries = payload::transition, .peer = peer, .units = {0, units}, .in = in});
  }
  void receive_transition(int peer, buffer out) {
    steps.push_back(
        {.what = operation::receive, .carries = payload::transition, .peer = peer, .units = {0, units}, .out = out});
  }
  void fold(buffer in, buffer summary, buffer out, unit_range range, std::size_t block) {
    steps.push_back({.what = operation::fold, .block = block, .units = range, .in = in, .summary = summary, .out = out});
  }
  void deliver(buffer in, result to, unit_range range, std::size_t block) {
    steps.push_back({.what = operation::deliver, .to = to, .block = block, .units = range, .in = in});
  }
};

/// The units [0, units) as consecutive ranges, one a pipeline step. Empty ranges are skipped by every algorithm.
using block_list = std::span<const unit_range>;

}  // namespace allscan
