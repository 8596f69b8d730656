/// The part of the outputs that needs no carry: what the tokens of a chunk see of the chunk itself.
#pragma once

#include <allscan/core/parallel.hpp>
#include <allscan/kernel/cpu/chunk_decay.hpp>
#include <allscan/kernel/cpu/chunks.hpp>
#include <allscan/kernel/cpu/halves.hpp>
#include <allscan/kernel/cpu/product.hpp>
#include <allscan/kernel/row.hpp>
#include <allscan/kernel/tokens.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace allscan::cpu {

/// o_i = sum over the keys j <= i of the same chunk. Chunks are independent of one another. The pair j = i has no decay.
/// @param o  [batch, tokens, heads, value_dim], written.
/// @param hook  void(); called by the calling thread after each of its chunks.
template <class Gate, class T, class Hook = no_hook>
void intra_chunk(const token_shape& shape, std::size_t chunk, const gla_tokens<T>& tokens, kernel::same<T>* o,
                 Hook&& hook = {}) {
  constexpr std::size_t strip = 16;  // queries at a time
  const chunk_list chunks{shape.tokens, chunk};
  const std::size_t key_dim = shape.key_dim;
  const std::size_t value_dim = shape.value_dim;
  parallel_ranges(shape.batch * shape.heads * chunks.count(), [&](unit_range items, bool calling_thread) {
    chunk_decay<Gate, T> decay{key_dim, chunks.largest()};
    halves<Gate, T> half{key_dim, chunks.largest()};
    std::vector<T> keys(chunks.largest() * key_dim);  // both decayed to the middle of a block
    std::vector<T> queries(strip * key_dim);
    std::vector<T> scores(strip * chunks.largest());
    for (std::size_t item = items.begin; item < items.end; ++item) {
      const std::size_t m = item / chunks.count();
      const std::size_t begin = chunks.begin(item % chunks.count());
      const auto q = kernel::head_rows(shape, m, tokens.q, key_dim).from(begin);
      const auto k = kernel::head_rows(shape, m, tokens.k, key_dim).from(begin);
      const auto v = kernel::head_rows(shape, m, tokens.v, value_dim).from(begin);
      const auto g = kernel::head_rows(shape, m, tokens.log_decay, kernel::gate_width<Gate>(key_dim)).from(begin);
      const auto out = kernel::head_rows(shape, m, o, value_dim).from(begin);
      decay.assign(g, chunks.size(item % chunks.count()));
      for (std::size_t i = 0; i < decay.tokens(); ++i) {
        const T score = tokens.scale * kernel::dot(key_dim, q[i], k[i]);
        for (std::size_t j = 0; j < value_dim; ++j) out[i][j] = score * v[i][j];
      }
      half.for_each_block(decay, [&](half_block block) {
        const std::size_t key_count = block.middle - block.first;
        for (std::size_t j = 0; j < key_count; ++j) {
          decay_row<Gate>(key_dim, half.until(block.first + j), k[block.first + j], keys.data() + j * key_dim);
        }
        for (std::size_t first = block.middle; first < block.end; first += strip) {
          const std::size_t count = std::min(strip, block.end - first);
          for (std::size_t i = 0; i < count; ++i) {
            decay_row<Gate>(key_dim, half.since(first + i), q[first + i], queries.data() + i * key_dim);
          }
          std::fill_n(scores.data(), count * key_count, T(0));
          multiply_add_transposed<T>(count, key_count, key_dim, queries.data(), key_dim, keys.data(), key_dim, scores.data(),
                                     key_count);
          for (std::size_t i = 0; i < count * key_count; ++i) scores[i] *= tokens.scale;
          multiply_add<T>(count, value_dim, key_count, {scores.data(), key_count}, v[block.first], v.stride, out[first],
                          out.stride);
        }
      });
      if (calling_thread) hook();
    }
  });
}

}  // namespace allscan::cpu
