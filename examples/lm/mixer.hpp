/// The layer that mixes tokens: gated linear attention (GLA, arXiv 2312.06635) over a sequence that is split over ranks.
///
///   n = norm(x)         q, k, v = n Wq, n Wk, n Wv         log_decay = decay_gate(n Wd + bias)
///   o = gla(q, k, v, log_decay)                            x + (swish(n Wg) * norm(o by head)) Wo
#pragma once

#include "layers.hpp"
#include "parameters.hpp"

namespace lm {

/// What the forward pass leaves to the backward pass. Rows are this rank's tokens.
template <class T>
struct mixer_trace {
  matrix<T> x, normed;
  matrix<T> q, k, v;
  matrix<T> decay_input, log_decay;
  matrix<T> carry;  ///< the state that arrived from the rank before
  matrix<T> o, o_normed;
  matrix<T> gate, gated;
};

/// @param gla  an allscan operator: the one place where ranks meet.
template <class T, class Gla>
[[nodiscard]] matrix<T> mix(const block_parameters<T>& w, Gla& gla, matrix<T> x, mixer_trace<T>& t) {
  t.normed = rms_norm(x, w.mixer_norm);
  t.q = product(t.normed, w.query);
  t.k = product(t.normed, w.key);
  t.v = product(t.normed, w.value);
  t.decay_input = product(t.normed, w.decay);
  add_bias(w.decay_bias, t.decay_input);
  t.log_decay = decay_gate(t.decay_input);

  t.o = matrix<T>{t.v.rows(), t.v.cols()};
  t.carry = matrix<T>{1, gla.shape().state().elements()};
  gla.forward({.q = t.q, .k = t.k, .v = t.v, .log_decay = t.log_decay}, {.o = t.o, .carry = t.carry});

  t.o_normed = rms_norm(t.o, w.head_norm);
  t.gate = product(t.normed, w.output_gate);
  t.gated = swish_gate(t.gate, t.o_normed);
  t.x = std::move(x);
  matrix<T> y = t.x;
  add_product(t.gated, w.output, y);
  return y;
}

/// @param d_y  the gradient on mix()'s result. @returns the gradient on x.
template <class T, class Gla>
[[nodiscard]] matrix<T> mix_backward(const block_parameters<T>& w, Gla& gla, const mixer_trace<T>& t, matrix<T> d_y,
                                     block_parameters<T>& d_w) {
  matrix<T> d_gated{t.gated.rows(), t.gated.cols()};
  linear_backward(t.gated, w.output, d_y, d_gated, d_w.output);
  const auto [d_gate, d_o_normed] = swish_gate_backward(t.gate, t.o_normed, d_gated);
  matrix<T> d_o{t.o.rows(), t.o.cols()};
  rms_norm_backward(t.o, w.head_norm, d_o_normed, d_o, d_w.head_norm);

  matrix<T> d_q{t.q.rows(), t.q.cols()};
  matrix<T> d_k{t.k.rows(), t.k.cols()};
  matrix<T> d_v{t.v.rows(), t.v.cols()};
  matrix<T> d_log_decay{t.log_decay.rows(), t.log_decay.cols()};
  gla.backward({.q = t.q, .k = t.k, .v = t.v, .log_decay = t.log_decay, .carry = t.carry, .d_o = d_o},
               {.dq = d_q, .dk = d_k, .dv = d_v, .dlog_decay = d_log_decay});
  const matrix<T> d_decay_input = decay_gate_backward(t.decay_input, d_log_decay);
  add_bias_backward(d_decay_input, d_w.decay_bias);

  matrix<T> d_normed{t.normed.rows(), t.normed.cols()};
  linear_backward(t.normed, w.query, d_q, d_normed, d_w.query);
  linear_backward(t.normed, w.key, d_k, d_normed, d_w.key);
  linear_backward(t.normed, w.value, d_v, d_normed, d_w.value);
  linear_backward(t.normed, w.decay, d_decay_input, d_normed, d_w.decay);
  linear_backward(t.normed, w.output_gate, d_gate, d_normed, d_w.output_gate);
  matrix<T> d_x = std::move(d_y);  // the residual path
  rms_norm_backward(t.x, w.mixer_norm, d_normed, d_x, d_w.mixer_norm);
  return d_x;
}

}  // namespace lm
