/// All-gather of every rank's summary around a ring, then a local fold: what LASP-2 does, and the baseline to beat.
///
///   round 1: every position sends its own summary to the right      P-1 rounds; each moves m bytes of state and the
///   round 2: ... the one it received in round 1, and so on          transition, and each position keeps all of them
///
/// Moves (P-1)*(m + transition) a rank where the chain moves m. Folds strictly left to right, so it equals the chain to the
/// bit.
#pragma once

#include <allscan/collective/program.hpp>

namespace allscan::gather {

[[nodiscard]] inline program make_program(int position, int size, block_list blocks, const scan_request& want) {
  program p{.algorithm = "gather", .position = position, .size = size, .units = blocks.empty() ? 0 : blocks.back().end};
  if (p.units == 0) return p;

  std::vector<buffer> summaries(static_cast<std::size_t>(size));
  for (int q = 0; q < size; ++q) {
    summaries[static_cast<std::size_t>(q)] = q == position ? local_summary : p.new_buffer(p.storages());
  }
  const auto summary_of = [&](int q) { return summaries[static_cast<std::size_t>((q % size + size) % size)]; };
  const auto each_block = [&](auto&& write) {
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      if (!blocks[k].empty()) write(blocks[k], k);
    }
  };

  // The first position's state goes out with the initial carry folded in, so the others need not know of one.
  buffer own_state = local_summary;
  if (want.initial_carry) {
    own_state = p.new_buffer(p.storages());
    each_block([&](unit_range units, std::size_t k) { p.fold(initial_carry, local_summary, own_state, units, k); });
  }
  const int right = (position + 1) % size;
  const int left = (position + size - 1) % size;
  for (int round = 1; round < size; ++round) {
    p.send_transition(right, summary_of(position - round + 1));
    p.receive_transition(left, summary_of(position - round));
    each_block([&](unit_range units, std::size_t k) {
      p.send(right, round == 1 ? own_state : summary_of(position - round + 1), units, k);
      p.receive(left, summary_of(position - round), units, k);
    });
  }

  // Two storages take turns: the fold that writes one reads the other, so nothing unread is overwritten.
  const int turns = p.storages();
  buffer prefix = want.initial_carry ? initial_carry : no_buffer;
  for (int q = 0; q < position; ++q) {
    if (prefix == no_buffer) {
      prefix = summary_of(q);
      continue;
    }
    const buffer next = p.new_buffer(turns + q % 2);
    each_block([&](unit_range units, std::size_t k) { p.fold(prefix, summary_of(q), next, units, k); });
    prefix = next;
  }
  if (want.carry) {
    const buffer carry = prefix == no_buffer ? identity_state : prefix;
    each_block([&](unit_range units, std::size_t k) { p.deliver(carry, result::carry, units, k); });
  }
  if (want.outgoing) {
    if (position != 0) {
      own_state = p.new_buffer(turns + position % 2);
      each_block([&](unit_range units, std::size_t k) { p.fold(prefix, local_summary, own_state, units, k); });
    }
    each_block([&](unit_range units, std::size_t k) { p.deliver(own_state, result::outgoing, units, k); });
  }
  return p;
}

}  // namespace allscan::gather
