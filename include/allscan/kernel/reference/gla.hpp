/// Gated linear attention token by token, with its adjoint written by hand: the oracle of the chunked kernels (T = double),
/// and the kernel of the serial mode of the operators. A token's operations do not depend on where a sequence is cut: running
/// tokens [0, c) and then [c, tokens) from the state handed on equals one run to the bit, forward and backward.
#pragma once

#include <allscan/core/config.hpp>
#include <allscan/core/parallel.hpp>
#include <allscan/kernel/row.hpp>
#include <allscan/kernel/split_decay.hpp>
#include <allscan/kernel/tokens.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace allscan::reference {

namespace detail {

using kernel::add_scaled;
using kernel::dot;
using kernel::gate_width;
using kernel::head_rows;
using kernel::rows;
using kernel::split_decay;
using kernel::split_exp;

/// The tensors of one batch row and head.
template <class T>
struct head_tokens {
  std::size_t key_dim;
  std::size_t value_dim;
  T scale;
  rows<const T> q;
  rows<const T> k;
  rows<const T> v;
  rows<const T> log_decay;
};

template <class Gate, class T>
head_tokens<T> head(const token_shape& s, std::size_t matrix, const gla_tokens<T>& x) {
  return {.key_dim = s.key_dim,
          .value_dim = s.value_dim,
          .scale = x.scale,
          .q = head_rows(s, matrix, x.q, s.key_dim),
          .k = head_rows(s, matrix, x.k, s.key_dim),
          .v = head_rows(s, matrix, x.v, s.value_dim),
          .log_decay = head_rows(s, matrix, x.log_decay, gate_width<Gate>(s.key_dim))};
}

/// next = diag(e^{g_t}) state + k_t v_t^T; `next` may be `state`.
template <class Gate, class T>
ALLSCAN_NOINLINE void advance(const head_tokens<T>& x, std::size_t t, const T* state, T* next) {
  const T* v = x.v[t];
  split_decay<T> decay{};
  for (std::size_t i = 0; i < x.key_dim; ++i) {
    if (i == 0 || std::is_same_v<Gate, kind::diagonal>) decay = split_exp<T>(x.log_decay[t][i]);
    const T k = x.k[t][i];
    const T* from = state + i * x.value_dim;
    T* to = next + i * x.value_dim;
    for (std::size_t j = 0; j < x.value_dim; ++j) to[j] = decay.apply(from[j], k * v[j]);
  }
}

/// o = state^T (scale * q_t)
template <class T>
ALLSCAN_NOINLINE void read(const head_tokens<T>& x, std::size_t t, const T* state, T* o) {
  std::fill_n(o, x.value_dim, T(0));
  for (std::size_t i = 0; i < x.key_dim; ++i) add_scaled(x.value_dim, x.scale * x.q[t][i], state + i * x.value_dim, o);
}

/// The adjoint of one token. `before`, `after`: the state around it. d_state: in, gradient on `after` through later tokens;
/// out, gradient on `before`.
template <class Gate, class T>
ALLSCAN_NOINLINE void retreat(const head_tokens<T>& x, std::size_t t, const T* before, const T* after, const T* d_o, T* dq,
                              T* dk, T* dv, T* dlog_decay, T* d_state) {
  const T* q = x.q[t];
  const T* k = x.k[t];
  const T* v = x.v[t];
  std::fill_n(dv, x.value_dim, T(0));
  split_decay<T> decay{};
  T d_gate = T(0);
  for (std::size_t i = 0; i < x.key_dim; ++i) {
    T* d_row = d_state + i * x.value_dim;
    add_scaled(x.value_dim, x.scale * q[i], d_o, d_row);
    dq[i] = x.scale * dot(x.value_dim, after + i * x.value_dim, d_o);
    dk[i] = dot(x.value_dim, d_row, v);
    add_scaled(x.value_dim, k[i], d_row, dv);
    const T carried = dot(x.value_dim, d_row, before + i * x.value_dim);
    if constexpr (std::is_same_v<Gate, kind::diagonal>) {
      decay = split_exp<T>(x.log_decay[t][i]);
      dlog_decay[i] = decay.value() * carried;
    } else {
      if (i == 0) decay = split_exp<T>(x.log_decay[t][0]);
      d_gate += carried;
    }
    for (std::size_t j = 0; j < x.value_dim; ++j) d_row[j] = decay.apply(d_row[j], T(0));
  }
  if constexpr (std::is_same_v<Gate, kind::scalar>) dlog_decay[0] = decay.value() * d_gate;
}

}  // namespace detail

/// @param initial  state before the first token [batch, heads, key_dim, value_dim], or null for zero.
/// @param o  written. @param final  state after the last token, written, or null; may be `initial`.
template <class Gate, class T>
void gla_forward(const token_shape& shape, const gla_tokens<T>& tokens, const kernel::same<T>* initial, kernel::same<T>* o,
                 kernel::same<T>* final) {
  const std::size_t matrix_elements = shape.key_dim * shape.value_dim;
  parallel_for(shape.batch * shape.heads, [&](std::size_t m) {
    const auto x = detail::head<Gate>(shape, m, tokens);
    const auto out = kernel::head_rows(shape, m, o, shape.value_dim);
    std::vector<T> state(matrix_elements);
    kernel::copy_or_zero(initial != nullptr ? initial + m * matrix_elements : nullptr, matrix_elements, state.data());
    for (std::size_t t = 0; t < shape.tokens; ++t) {
      detail::advance<Gate>(x, t, state.data(), state.data());
      detail::read(x, t, state.data(), out[t]);
    }
    if (final != nullptr) std::copy_n(state.data(), matrix_elements, final + m * matrix_elements);
  });
}

/// States are kept every sqrt(tokens) tokens and recomputed between: memory of 2 sqrt(tokens) states a thread.
/// @param d_final  gradient on the state after the last token, or null for zero.
/// @param gradients  all written. @param d_initial  gradient on the state before the first token, written, or null; may be
/// `d_final`.
template <class Gate, class T>
void gla_backward(const token_shape& shape, const gla_tokens<T>& tokens, const kernel::same<T>* initial,
                  const kernel::same<T>* d_o, const kernel::same<T>* d_final, const gla_gradients<kernel::same<T>>& gradients,
                  kernel::same<T>* d_initial) {
  const std::size_t matrix_elements = shape.key_dim * shape.value_dim;
  const auto stride = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(shape.tokens))));
  const std::size_t segments = shape.tokens == 0 ? 0 : (shape.tokens + stride - 1) / stride;
  parallel_for(shape.batch * shape.heads, [&](std::size_t m) {
    const auto x = detail::head<Gate>(shape, m, tokens);
    const auto d_out = kernel::head_rows(shape, m, d_o, shape.value_dim);
    const auto dq = kernel::head_rows(shape, m, gradients.dq, shape.key_dim);
    const auto dk = kernel::head_rows(shape, m, gradients.dk, shape.key_dim);
    const auto dv = kernel::head_rows(shape, m, gradients.dv, shape.value_dim);
    const auto dg = kernel::head_rows(shape, m, gradients.dlog_decay, kernel::gate_width<Gate>(shape.key_dim));

    std::vector<T> starts(std::max<std::size_t>(segments, 1) * matrix_elements);  // the state before each segment
    kernel::copy_or_zero(initial != nullptr ? initial + m * matrix_elements : nullptr, matrix_elements, starts.data());
    for (std::size_t s = 0; s + 1 < segments; ++s) {
      T* next = starts.data() + (s + 1) * matrix_elements;
      std::copy_n(starts.data() + s * matrix_elements, matrix_elements, next);
      for (std::size_t t = s * stride; t < (s + 1) * stride; ++t) detail::advance<Gate>(x, t, next, next);
    }

    std::vector<T> d_state(matrix_elements);
    kernel::copy_or_zero(d_final != nullptr ? d_final + m * matrix_elements : nullptr, matrix_elements, d_state.data());
    std::vector<T> states((stride + 1) * matrix_elements);  // around every token of one segment
    for (std::size_t s = segments; s-- > 0;) {
      const std::size_t begin = s * stride;
      const std::size_t end = std::min(begin + stride, shape.tokens);
      std::copy_n(starts.data() + s * matrix_elements, matrix_elements, states.data());
      for (std::size_t t = begin; t < end; ++t) {
        T* state = states.data() + (t - begin) * matrix_elements;
        detail::advance<Gate>(x, t, state, state + matrix_elements);
      }
      for (std::size_t t = end; t-- > begin;) {
        const T* before = states.data() + (t - begin) * matrix_elements;
        detail::retreat<Gate>(x, t, before, before + matrix_elements, d_out[t], dq[t], dk[t], dv[t], dg[t], d_state.data());
      }
    }
    if (d_initial != nullptr) std::copy_n(d_state.data(), matrix_elements, d_initial + m * matrix_elements);
  });
}

}  // namespace allscan::reference
