/// The adjoint of add_carry: the part of the gradients that passes through the states between chunks.
#pragma once

#include <allscan/core/parallel.hpp>
#include <allscan/kernel/cpu/carry_gradients.hpp>
#include <allscan/kernel/cpu/chunk_decay.hpp>
#include <allscan/kernel/cpu/chunks.hpp>
#include <allscan/kernel/cpu/summary.hpp>
#include <allscan/kernel/row.hpp>
#include <allscan/kernel/tokens.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace allscan::cpu {

/// Chunk states are kept every sqrt(chunks) chunks and recomputed between: memory of 2 sqrt(chunks) states a thread.
/// @param carry  the state before the first token [batch, heads, key_dim, value_dim], or null for zero.
/// @param d_outgoing  gradient on the state after the last token, or null for zero.
/// @param gradients  hold intra_chunk_backward's part; added to.
/// @param hook  void(); called by the calling thread after each chunk of either walk.
template <class Gate, class T, class Hook = no_hook>
void add_carry_backward(const token_shape& shape, std::size_t chunk, const gla_tokens<T>& tokens, const kernel::same<T>* carry,
                        const kernel::same<T>* d_o, const kernel::same<T>* d_outgoing,
                        const gla_gradients<kernel::same<T>>& gradients, Hook&& hook = {}) {
  const chunk_list chunks{shape.tokens, chunk};
  if (chunks.count() == 0) return;
  const std::size_t width = kernel::gate_width<Gate>(shape.key_dim);
  const std::size_t elements = shape.key_dim * shape.value_dim;
  const auto segment = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(chunks.count()))));
  const std::size_t segments = (chunks.count() - 1) / segment + 1;
  parallel_ranges(shape.batch * shape.heads, [&](unit_range matrices, bool calling_thread) {
    chunk_decay<Gate, T> decay{shape.key_dim, chunks.largest()};
    carry_gradients<Gate, T> gradient{shape.key_dim, shape.value_dim, chunks.largest()};
    std::vector<T> operands(chunks.largest() * shape.key_dim);
    std::vector<T> starts(segments * elements);  // the state before each segment
    std::vector<T> states(segment * elements);   // before each chunk of one segment
    std::vector<T> d_state(elements);
    for (std::size_t m = matrices.begin; m < matrices.end; ++m) {
      const auto q = kernel::head_rows(shape, m, tokens.q, shape.key_dim);
      const auto k = kernel::head_rows(shape, m, tokens.k, shape.key_dim);
      const auto v = kernel::head_rows(shape, m, tokens.v, shape.value_dim);
      const auto g = kernel::head_rows(shape, m, tokens.log_decay, width);
      const auto d_out = kernel::head_rows(shape, m, d_o, shape.value_dim);
      const auto dq = kernel::head_rows(shape, m, gradients.dq, shape.key_dim);
      const auto dk = kernel::head_rows(shape, m, gradients.dk, shape.key_dim);
      const auto dv = kernel::head_rows(shape, m, gradients.dv, shape.value_dim);
      const auto dg = kernel::head_rows(shape, m, gradients.dlog_decay, width);

      const auto advance = [&](std::size_t c, const T* from, T* to) {
        if (from != to) std::copy_n(from, elements, to);
        decay.assign(g.from(chunks.begin(c)), chunks.size(c));
        advance_state(shape, decay, k.from(chunks.begin(c)), v.from(chunks.begin(c)), operands.data(), to);
        if (calling_thread) hook();
      };

      kernel::copy_or_zero(carry != nullptr ? carry + m * elements : nullptr, elements, starts.data());
      for (std::size_t s = 0; s + 1 < segments; ++s) {
        T* next = starts.data() + (s + 1) * elements;
        std::copy_n(starts.data() + s * elements, elements, next);
        for (std::size_t c = s * segment; c < (s + 1) * segment; ++c) advance(c, next, next);
      }
      kernel::copy_or_zero(d_outgoing != nullptr ? d_outgoing + m * elements : nullptr, elements, d_state.data());
      for (std::size_t s = segments; s-- > 0;) {
        const std::size_t first = s * segment;
        const std::size_t end = std::min(first + segment, chunks.count());
        std::copy_n(starts.data() + s * elements, elements, states.data());
        for (std::size_t c = first; c + 1 < end; ++c) {
          T* state = states.data() + (c - first) * elements;
          advance(c, state, state + elements);
        }
        for (std::size_t c = end; c-- > first;) {
          const std::size_t begin = chunks.begin(c);
          decay.assign(g.from(begin), chunks.size(c));
          decay.until_end(k.from(begin), operands.data());
          gradient.add(decay, tokens.scale, {q.from(begin), k.from(begin), v.from(begin), d_out.from(begin)}, operands.data(),
                       states.data() + (c - first) * elements, d_state.data(),
                       {dq.from(begin), dk.from(begin), dv.from(begin), dg.from(begin)});
          if (c > 0) {
            decay.since_start(q.from(begin), tokens.scale, operands.data());
            retreat_state(shape, decay, operands.data(), d_out.from(begin), d_state.data());
          }
          if (calling_thread) hook();
        }
      }
    }
  });
}

}  // namespace allscan::cpu
