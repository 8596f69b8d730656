/// Gradients of one chunk through the state before it and the gradient on the state after it.
#pragma once

#include <allscan/kernel/cpu/chunk_decay.hpp>
#include <allscan/kernel/cpu/chunks.hpp>
#include <allscan/kernel/cpu/gate_sum.hpp>
#include <allscan/kernel/cpu/product.hpp>
#include <allscan/kernel/row.hpp>
#include <allscan/kernel/tokens.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace allscan::cpu {

template <class Gate, class T>
class carry_gradients {
 public:
  carry_gradients(std::size_t key_dim, std::size_t value_dim, std::size_t max_tokens)
      : key_dim_{key_dim},
        value_dim_{value_dim},
        product_(max_tokens * key_dim),
        d_queries_(max_tokens * key_dim),
        d_keys_(max_tokens * key_dim),
        total_(kernel::gate_width<Gate>(key_dim)),
        run_{key_dim} {}

  /// @param keys  the chunk's, decayed to its end (chunk_decay::until_end). @param state  before the chunk.
  /// @param d_state  gradient on the state after the chunk. @param to  added to.
  void add(chunk_decay<Gate, T>& decay, T scale, const chunk_inputs<T>& x, const T* keys, const T* state, const T* d_state,
           const chunk_outputs<T>& to) {
    multiply_state(decay.tokens(), x.d_o, state);
    decay.since_start({product_.data(), key_dim_}, scale, d_queries_.data());
    multiply_state(decay.tokens(), x.v, d_state);
    decay.until_end({product_.data(), key_dim_}, d_keys_.data());
    for (std::size_t i = 0; i < decay.tokens(); ++i) {
      kernel::add_scaled(key_dim_, T(1), d_queries_.data() + i * key_dim_, to.dq[i]);
      kernel::add_scaled(key_dim_, T(1), d_keys_.data() + i * key_dim_, to.dk[i]);
    }
    multiply_add<T>(decay.tokens(), value_dim_, key_dim_, {keys, key_dim_}, d_state, value_dim_, to.dv.data, to.dv.stride);
    add_gates(decay, x, state, d_state, to.dlog_decay);
  }

 private:
  /// product_ = rows state^T
  void multiply_state(std::size_t tokens, kernel::rows<const T> rows, const T* state) {
    std::fill_n(product_.data(), tokens * key_dim_, T(0));
    multiply_add_transposed<T>(tokens, key_dim_, value_dim_, rows.data, rows.stride, state, value_dim_, product_.data(),
                               key_dim_);
  }

  /// g_t decays what queries from t on see of the state before, what the state after keeps of the keys before t, and what it
  /// keeps of the state before.
  void add_gates(chunk_decay<Gate, T>& decay, const chunk_inputs<T>& x, const T* state, const T* d_state,
                 kernel::rows<T> dlog_decay) {
    run_.reset();
    for (std::size_t t = decay.tokens(); t-- > 0;) {
      run_.collect(x.q[t], d_queries_.data() + t * key_dim_);
      run_.add_to(dlog_decay[t]);
    }
    decay.total(total_.data());
    run_.reset();
    for (std::size_t d = 0; d < key_dim_; ++d) {
      const T kept = kernel::dot(value_dim_, state + d * value_dim_, d_state + d * value_dim_);
      run_.add(d, total_[d % total_.size()] * kept);
    }
    for (std::size_t t = 0; t < decay.tokens(); ++t) {
      run_.add_to(dlog_decay[t]);
      run_.collect(x.k[t], d_keys_.data() + t * key_dim_);
    }
  }

  std::size_t key_dim_;
  std::size_t value_dim_;
  std::vector<T> product_;  // [tokens, key_dim], as the two below
  std::vector<T> d_queries_;
  std::vector<T> d_keys_;
  std::vector<T> total_;  // [gate_width]
  gate_sum<Gate, T> run_;
};

}  // namespace allscan::cpu
