/// Gradients of the pairs of tokens inside one chunk, a block of `halves` at a time.
#pragma once

#include <allscan/kernel/cpu/chunk_decay.hpp>
#include <allscan/kernel/cpu/chunks.hpp>
#include <allscan/kernel/cpu/gate_sum.hpp>
#include <allscan/kernel/cpu/halves.hpp>
#include <allscan/kernel/cpu/product.hpp>
#include <allscan/kernel/row.hpp>
#include <allscan/kernel/tokens.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace allscan::cpu {

/// The gradient on g_t is the sum of the pairs that it decays, j < t <= i. In a block with middle m these are, for t >= m, all
/// pairs of the queries from t on, and for t < m all pairs of the keys before t. Nothing is subtracted: the textbook difference
/// of what queries and keys collect is left with rounding errors wherever decays are strong.
template <class Gate, class T>
class pair_gradients {
 public:
  pair_gradients(std::size_t key_dim, std::size_t value_dim, T scale, std::size_t max_tokens)
      : key_dim_{key_dim},
        value_dim_{value_dim},
        scale_{scale},
        keys_(max_tokens * key_dim),
        d_keys_(max_tokens * key_dim),
        queries_(strip * key_dim),
        d_queries_(strip * key_dim),
        scores_(strip * max_tokens),
        d_scores_(strip * max_tokens),
        run_{key_dim} {}

  /// Writes the gradients of token i through the pair (i, i), which no gate decays.
  void write_diagonal(const chunk_inputs<T>& x, std::size_t i, const chunk_outputs<T>& to) const {
    const T score = scale_ * kernel::dot(key_dim_, x.q[i], x.k[i]);
    const T d_score = scale_ * kernel::dot(value_dim_, x.d_o[i], x.v[i]);
    for (std::size_t d = 0; d < key_dim_; ++d) {
      to.dq[i][d] = d_score * x.k[i][d];
      to.dk[i][d] = d_score * x.q[i][d];
    }
    for (std::size_t j = 0; j < value_dim_; ++j) to.dv[i][j] = score * x.d_o[i][j];
    std::fill_n(to.dlog_decay[i], kernel::gate_width<Gate>(key_dim_), T(0));
  }

  void add_block(const halves<Gate, T>& half, half_block block, const chunk_inputs<T>& x, const chunk_outputs<T>& to) {
    const std::size_t key_count = block.middle - block.first;
    for (std::size_t j = 0; j < key_count; ++j) {
      decay_row<Gate>(key_dim_, half.until(block.first + j), x.k[block.first + j], keys_.data() + j * key_dim_);
    }
    std::fill_n(d_keys_.data(), key_count * key_dim_, T(0));
    run_.reset();
    for (std::size_t end = block.end; end > block.middle;) {  // strips of queries, last first
      const std::size_t first = block.middle + (end - 1 - block.middle) / strip * strip;
      add_queries(half, block, first, end - first, x, to);
      end = first;
    }
    run_.reset();
    for (std::size_t j = 0; j < key_count; ++j) {
      const std::size_t t = block.first + j;
      T* d_key = d_keys_.data() + j * key_dim_;
      run_.add_to(to.dlog_decay[t]);
      run_.collect(keys_.data() + j * key_dim_, d_key);
      decay_row<Gate>(key_dim_, half.until(t), d_key, d_key);
      kernel::add_scaled(key_dim_, T(1), d_key, to.dk[t]);
    }
  }

 private:
  static constexpr std::size_t strip = 16;

  /// `count` queries from `first` on with all keys of the block.
  void add_queries(const halves<Gate, T>& half, half_block block, std::size_t first, std::size_t count,
                   const chunk_inputs<T>& x, const chunk_outputs<T>& to) {
    const std::size_t key_count = block.middle - block.first;
    for (std::size_t i = 0; i < count; ++i) {
      T* query = queries_.data() + i * key_dim_;
      decay_row<Gate>(key_dim_, half.since(first + i), x.q[first + i], query);
      for (std::size_t d = 0; d < key_dim_; ++d) query[d] *= scale_;
    }
    std::fill_n(scores_.data(), count * key_count, T(0));
    multiply_add_transposed<T>(count, key_count, key_dim_, queries_.data(), key_dim_, keys_.data(), key_dim_, scores_.data(),
                               key_count);
    std::fill_n(d_scores_.data(), count * key_count, T(0));
    multiply_add_transposed<T>(count, key_count, value_dim_, x.d_o[first], x.d_o.stride, x.v[block.first], x.v.stride,
                               d_scores_.data(), key_count);
    multiply_add<T>(key_count, value_dim_, count, {scores_.data(), 1, key_count}, x.d_o[first], x.d_o.stride,
                    to.dv[block.first], to.dv.stride);
    multiply_add<T>(key_count, key_dim_, count, {d_scores_.data(), 1, key_count}, queries_.data(), key_dim_, d_keys_.data(),
                    key_dim_);
    std::fill_n(d_queries_.data(), count * key_dim_, T(0));
    multiply_add<T>(count, key_dim_, key_count, {d_scores_.data(), key_count}, keys_.data(), key_dim_, d_queries_.data(),
                    key_dim_);
    for (std::size_t i = count; i-- > 0;) {
      T* d_query = d_queries_.data() + i * key_dim_;
      run_.collect(queries_.data() + i * key_dim_, d_query);
      run_.add_to(to.dlog_decay[first + i]);
      decay_row<Gate>(key_dim_, half.since(first + i), d_query, d_query);
      kernel::add_scaled(key_dim_, scale_, d_query, to.dq[first + i]);
    }
  }

  std::size_t key_dim_;
  std::size_t value_dim_;
  T scale_;
  std::vector<T> keys_;       // decayed to the middle [keys, key_dim]
  std::vector<T> d_keys_;     // gradients on them
  std::vector<T> queries_;    // scaled, decayed since the middle [strip, key_dim]
  std::vector<T> d_queries_;  // gradients on them, without the scale
  std::vector<T> scores_;     // [strip, keys]
  std::vector<T> d_scores_;   // [strip, keys]
  gate_sum<Gate, T> run_;
};

}  // namespace allscan::cpu
