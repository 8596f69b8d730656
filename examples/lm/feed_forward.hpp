/// The layer that works on each token alone: a gated feed-forward network (SwiGLU, arXiv 2002.05202).
///
///   n = norm(x)         x + (swish(n Wg) * (n Wu)) Wd
#pragma once

#include "layers.hpp"
#include "parameters.hpp"

namespace lm {

template <class T>
struct feed_forward_trace {
  matrix<T> x, normed;
  matrix<T> gate, up, gated;
};

template <class T>
[[nodiscard]] matrix<T> feed_forward(const block_parameters<T>& w, matrix<T> x, feed_forward_trace<T>& t) {
  t.normed = rms_norm(x, w.feed_forward_norm);
  t.gate = product(t.normed, w.feed_forward_gate);
  t.up = product(t.normed, w.feed_forward_up);
  t.gated = swish_gate(t.gate, t.up);
  t.x = std::move(x);
  matrix<T> y = t.x;
  add_product(t.gated, w.feed_forward_down, y);
  return y;
}

/// @param d_y  the gradient on feed_forward()'s result. @returns the gradient on x.
template <class T>
[[nodiscard]] matrix<T> feed_forward_backward(const block_parameters<T>& w, const feed_forward_trace<T>& t, matrix<T> d_y,
                                              block_parameters<T>& d_w) {
  matrix<T> d_gated{t.gated.rows(), t.gated.cols()};
  linear_backward(t.gated, w.feed_forward_down, d_y, d_gated, d_w.feed_forward_down);
  const auto [d_gate, d_up] = swish_gate_backward(t.gate, t.up, d_gated);
  matrix<T> d_normed{t.normed.rows(), t.normed.cols()};
  linear_backward(t.normed, w.feed_forward_gate, d_gate, d_normed, d_w.feed_forward_gate);
  linear_backward(t.normed, w.feed_forward_up, d_up, d_normed, d_w.feed_forward_up);
  matrix<T> d_x = std::move(d_y);  // the residual path
  rms_norm_backward(t.x, w.feed_forward_norm, d_normed, d_x, d_w.feed_forward_norm);
  return d_x;
}

}  // namespace lm
