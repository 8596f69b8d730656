/// The pipelined chain: the All-Scan of ZeCO (arXiv 2507.01004, algorithm 2).
///
///   position 0      position 1         position 2
///   S0 ──block 0──▶ A1*S0 + S1 ──────▶ A2*(A1*S0 + S1) + S2
///      ──block 1──▶      ──block 0──▶        (hands on nothing)
///
/// Every boundary carries the state once, the least any algorithm can move. Time (P-2+K)(a + m/(K*B) + g*m/K) with K blocks,
/// a latency, B bandwidth, g the cost of folding a byte, m the state's bytes. Folds strictly left to right.
#pragma once

#include <allscan/collective/program.hpp>

namespace allscan::chain {

[[nodiscard]] inline program make_program(int position, int size, block_list blocks, const scan_request& want) {
  program p{.algorithm = "chain", .position = position, .size = size, .units = blocks.empty() ? 0 : blocks.back().end};
  const bool first = position == 0;
  const bool last = position == size - 1;
  const buffer arrived = first ? (want.initial_carry ? initial_carry : no_buffer) : p.new_buffer(0);
  // Without a carry the local state is what is handed on: it is not folded with zero.
  const buffer handed_on = arrived == no_buffer ? local_summary : p.new_buffer(first ? 0 : 1);

  for (std::size_t k = 0; k < blocks.size(); ++k) {
    const unit_range units = blocks[k];
    if (units.empty()) continue;
    if (!first) p.receive(position - 1, arrived, units, k);
    if (handed_on != local_summary && (!last || want.outgoing)) p.fold(arrived, local_summary, handed_on, units, k);
    if (!last) p.send(position + 1, handed_on, units, k);
    if (want.outgoing) p.deliver(handed_on, result::outgoing, units, k);
    if (want.carry) p.deliver(arrived == no_buffer ? identity_state : arrived, result::carry, units, k);
  }
  return p;
}

}  // namespace allscan::chain
