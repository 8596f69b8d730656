/// The adjoint of intra_chunk: the part of the gradients that needs no carry.
#pragma once

#include <allscan/core/parallel.hpp>
#include <allscan/kernel/cpu/chunk_decay.hpp>
#include <allscan/kernel/cpu/chunks.hpp>
#include <allscan/kernel/cpu/halves.hpp>
#include <allscan/kernel/cpu/pair_gradients.hpp>
#include <allscan/kernel/tokens.hpp>

#include <cstddef>

namespace allscan::cpu {

/// @param gradients  all written: what the pairs of tokens of one chunk give. add_carry_backward adds the rest.
/// @param hook  void(); called by the calling thread after each of its chunks.
template <class Gate, class T, class Hook = no_hook>
void intra_chunk_backward(const token_shape& shape, std::size_t chunk, const gla_tokens<T>& tokens, const kernel::same<T>* d_o,
                          const gla_gradients<kernel::same<T>>& gradients, Hook&& hook = {}) {
  const chunk_list chunks{shape.tokens, chunk};
  const std::size_t width = kernel::gate_width<Gate>(shape.key_dim);
  parallel_ranges(shape.batch * shape.heads * chunks.count(), [&](unit_range items, bool calling_thread) {
    chunk_decay<Gate, T> decay{shape.key_dim, chunks.largest()};
    halves<Gate, T> half{shape.key_dim, chunks.largest()};
    pair_gradients<Gate, T> pairs{shape.key_dim, shape.value_dim, tokens.scale, chunks.largest()};
    for (std::size_t item = items.begin; item < items.end; ++item) {
      const std::size_t m = item / chunks.count();
      const std::size_t begin = chunks.begin(item % chunks.count());
      const chunk_inputs<T> x{.q = kernel::head_rows(shape, m, tokens.q, shape.key_dim).from(begin),
                              .k = kernel::head_rows(shape, m, tokens.k, shape.key_dim).from(begin),
                              .v = kernel::head_rows(shape, m, tokens.v, shape.value_dim).from(begin),
                              .d_o = kernel::head_rows(shape, m, d_o, shape.value_dim).from(begin)};
      const chunk_outputs<T> to{.dq = kernel::head_rows(shape, m, gradients.dq, shape.key_dim).from(begin),
                                .dk = kernel::head_rows(shape, m, gradients.dk, shape.key_dim).from(begin),
                                .dv = kernel::head_rows(shape, m, gradients.dv, shape.value_dim).from(begin),
                                .dlog_decay = kernel::head_rows(shape, m, gradients.dlog_decay, width).from(begin)};
      decay.assign(kernel::head_rows(shape, m, tokens.log_decay, width).from(begin), chunks.size(item % chunks.count()));
      for (std::size_t i = 0; i < decay.tokens(); ++i) pairs.write_diagonal(x, i, to);
      half.for_each_block(decay, [&](half_block block) { pairs.add_block(half, block, x, to); });
      if (calling_thread) hook();
    }
  });
}

}  // namespace allscan::cpu
