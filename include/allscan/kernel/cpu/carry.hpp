/// The part of the outputs that reads the state before each chunk, walked on from the carry.
#pragma once

#include <allscan/core/parallel.hpp>
#include <allscan/kernel/cpu/chunk_decay.hpp>
#include <allscan/kernel/cpu/chunks.hpp>
#include <allscan/kernel/cpu/product.hpp>
#include <allscan/kernel/cpu/summary.hpp>
#include <allscan/kernel/row.hpp>
#include <allscan/kernel/tokens.hpp>

#include <cstddef>
#include <vector>

namespace allscan::cpu {

/// o += what every token sees of the state before its chunk.
/// @param carry  the state before the first token [batch, heads, key_dim, value_dim], or null for zero.
/// @param o  [batch, tokens, heads, value_dim], holds intra_chunk's part.
/// @param hook  void(); called by the calling thread after each of its chunks.
template <class Gate, class T, class Hook = no_hook>
void add_carry(const token_shape& shape, std::size_t chunk, const gla_tokens<T>& tokens, const kernel::same<T>* carry,
               kernel::same<T>* o, Hook&& hook = {}) {
  const chunk_list chunks{shape.tokens, chunk};
  const std::size_t elements = shape.key_dim * shape.value_dim;
  parallel_ranges(shape.batch * shape.heads, [&](unit_range matrices, bool calling_thread) {
    chunk_decay<Gate, T> decay{shape.key_dim, chunks.largest()};
    std::vector<T> operands(chunks.largest() * shape.key_dim);
    std::vector<T> state(elements);
    for (std::size_t m = matrices.begin; m < matrices.end; ++m) {
      const auto q = kernel::head_rows(shape, m, tokens.q, shape.key_dim);
      const auto k = kernel::head_rows(shape, m, tokens.k, shape.key_dim);
      const auto v = kernel::head_rows(shape, m, tokens.v, shape.value_dim);
      const auto g = kernel::head_rows(shape, m, tokens.log_decay, kernel::gate_width<Gate>(shape.key_dim));
      const auto out = kernel::head_rows(shape, m, o, shape.value_dim);
      kernel::copy_or_zero(carry != nullptr ? carry + m * elements : nullptr, elements, state.data());
      for (std::size_t c = 0; c < chunks.count(); ++c) {
        const std::size_t begin = chunks.begin(c);
        decay.assign(g.from(begin), chunks.size(c));
        decay.since_start(q.from(begin), tokens.scale, operands.data());
        multiply_add<T>(decay.tokens(), shape.value_dim, shape.key_dim, {operands.data(), shape.key_dim}, state.data(),
                        shape.value_dim, out[begin], out.stride);
        if (c + 1 < chunks.count()) {
          advance_state(shape, decay, k.from(begin), v.from(begin), operands.data(), state.data());
        }
        if (calling_thread) hook();
      }
    }
  });
}

}  // namespace allscan::cpu
