/// What a rank's tokens do to a state that passes over them: the summaries that All-Scan carries.
#pragma once

#include <allscan/core/parallel.hpp>
#include <allscan/kernel/cpu/chunk_decay.hpp>
#include <allscan/kernel/cpu/chunks.hpp>
#include <allscan/kernel/cpu/product.hpp>
#include <allscan/kernel/tokens.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace allscan::cpu {

/// One chunk's step of a running state: state = diag(e^{gates}) state + keys^T values, keys decayed to the chunk's end.
/// @param keys  scratch, [chunk tokens, key_dim].
template <class Gate, class T>
void advance_state(const token_shape& s, chunk_decay<Gate, T>& decay, kernel::rows<const T> k, kernel::rows<const T> v, T* keys,
                   T* state) {
  decay.until_end(k, keys);
  decay.decay_state(s.value_dim, state);
  multiply_add<T>(s.key_dim, s.value_dim, decay.tokens(), {keys, 1, s.key_dim}, v.data, v.stride, state, s.value_dim);
}

/// The adjoint step: d_state = diag(e^{gates}) d_state + queries^T d_o, queries decayed since the chunk's start.
/// @param queries  [chunk tokens, key_dim], scaled: chunk_decay::since_start.
template <class Gate, class T>
void retreat_state(const token_shape& s, chunk_decay<Gate, T>& decay, const T* queries, kernel::rows<const T> d_o, T* d_state) {
  decay.decay_state(s.value_dim, d_state);
  multiply_add<T>(s.key_dim, s.value_dim, decay.tokens(), {queries, 1, s.key_dim}, d_o.data, d_o.stride, d_state, s.value_dim);
}

/// The state after the tokens from a zero state, and the decay over all of them.
/// @param state  [batch, heads, key_dim, value_dim], written. @param log_decay_sum  [batch, heads] or [batch, heads, key_dim],
/// natural log, written; summed in double.
/// @param hook  void(); called by the calling thread after each of its chunks. q is not read.
template <class Gate, class T, class Hook = no_hook>
void summarize(const token_shape& shape, std::size_t chunk, const gla_tokens<T>& tokens, kernel::same<T>* state,
               kernel::same<T>* log_decay_sum, Hook&& hook = {}) {
  const chunk_list chunks{shape.tokens, chunk};
  const std::size_t width = kernel::gate_width<Gate>(shape.key_dim);
  const std::size_t elements = shape.key_dim * shape.value_dim;
  parallel_ranges(shape.batch * shape.heads, [&](unit_range matrices, bool calling_thread) {
    chunk_decay<Gate, T> decay{shape.key_dim, chunks.largest()};
    std::vector<T> keys(chunks.largest() * shape.key_dim);
    std::vector<double> sum(width);
    for (std::size_t m = matrices.begin; m < matrices.end; ++m) {
      const auto k = kernel::head_rows(shape, m, tokens.k, shape.key_dim);
      const auto v = kernel::head_rows(shape, m, tokens.v, shape.value_dim);
      const auto g = kernel::head_rows(shape, m, tokens.log_decay, width);
      T* out = state + m * elements;
      std::fill_n(out, elements, T(0));
      std::fill(sum.begin(), sum.end(), 0.0);
      for (std::size_t c = 0; c < chunks.count(); ++c) {
        const std::size_t begin = chunks.begin(c);
        decay.assign(g.from(begin), chunks.size(c));
        advance_state(shape, decay, k.from(begin), v.from(begin), keys.data(), out);
        decay.add_all(sum.data());
        if (calling_thread) hook();
      }
      std::transform(sum.begin(), sum.end(), log_decay_sum + m * width, [](double x) { return static_cast<T>(x); });
    }
  });
}

/// The gradient on the state before the tokens through their own outputs: sum over t of e^{gates up to t} scale q_t d_o_t^T.
/// @param d_state  [batch, heads, key_dim, value_dim], written. k and v are not read.
template <class Gate, class T, class Hook = no_hook>
void summarize_backward(const token_shape& shape, std::size_t chunk, const gla_tokens<T>& tokens, const kernel::same<T>* d_o,
                        kernel::same<T>* d_state, Hook&& hook = {}) {
  const chunk_list chunks{shape.tokens, chunk};
  const std::size_t elements = shape.key_dim * shape.value_dim;
  parallel_ranges(shape.batch * shape.heads, [&](unit_range matrices, bool calling_thread) {
    chunk_decay<Gate, T> decay{shape.key_dim, chunks.largest()};
    std::vector<T> queries(chunks.largest() * shape.key_dim);
    for (std::size_t m = matrices.begin; m < matrices.end; ++m) {
      const auto q = kernel::head_rows(shape, m, tokens.q, shape.key_dim);
      const auto g = kernel::head_rows(shape, m, tokens.log_decay, kernel::gate_width<Gate>(shape.key_dim));
      const auto d_out = kernel::head_rows(shape, m, d_o, shape.value_dim);
      T* out = d_state + m * elements;
      std::fill_n(out, elements, T(0));
      for (std::size_t c = chunks.count(); c-- > 0;) {
        const std::size_t begin = chunks.begin(c);
        decay.assign(g.from(begin), chunks.size(c));
        decay.since_start(q.from(begin), tokens.scale, queries.data());
        retreat_state(shape, decay, queries.data(), d_out.from(begin), out);
        if (calling_thread) hook();
      }
    }
  });
}

}  // namespace allscan::cpu
