/// The layers of the model that hold no state over tokens: each with its adjoint, written by hand.
///
/// Rows are tokens. d_x is the gradient of the loss on x. An adjoint returns the gradient on its input, or adds to it where
/// several layers read the same input, and always adds to the gradients of weights.
#pragma once

#include "matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lm {

using bytes = std::span<const std::uint8_t>;

/// The adjoint of y = x w.
template <class T>
void linear_backward(const matrix<T>& x, const matrix<T>& w, const matrix<T>& d_y, matrix<T>& d_x, matrix<T>& d_w) {
  add_product(d_y, transposed(w), d_x);
  add_product(transposed(x), d_y, d_w);
}

/// y += bias, a single row, on every row.
template <class T>
void add_bias(const matrix<T>& bias, matrix<T>& y) {
  for (std::size_t t = 0; t < y.rows(); ++t) {
    for (std::size_t j = 0; j < y.cols(); ++j) y.row(t)[j] += bias.data()[j];
  }
}

template <class T>
void add_bias_backward(const matrix<T>& d_y, matrix<T>& d_bias) {
  for (std::size_t t = 0; t < d_y.rows(); ++t) {
    for (std::size_t j = 0; j < d_y.cols(); ++j) d_bias.data()[j] += d_y.row(t)[j];
  }
}

/// The row of `table` that belongs to each byte.
template <class T>
[[nodiscard]] matrix<T> embed(const matrix<T>& table, bytes text) {
  matrix<T> x{text.size(), table.cols()};
  for (std::size_t t = 0; t < text.size(); ++t) std::copy_n(table.row(text[t]), table.cols(), x.row(t));
  return x;
}

template <class T>
void embed_backward(bytes text, const matrix<T>& d_x, matrix<T>& d_table) {
  for (std::size_t t = 0; t < text.size(); ++t) {
    for (std::size_t j = 0; j < d_x.cols(); ++j) d_table.row(text[t])[j] += d_x.row(t)[j];
  }
}

namespace detail {

/// 1 / rms of n numbers; the small term keeps a run of zeros finite.
template <class T>
[[nodiscard]] T inverse_rms(const T* x, std::size_t n) {
  T squares = 0;
  for (std::size_t j = 0; j < n; ++j) squares += x[j] * x[j];
  return 1 / std::sqrt(squares / static_cast<T>(n) + T(1e-6));
}

}  // namespace detail

/// RMSNorm (arXiv 1910.07467): weight * x / rms(x) over each run of weight.size() elements: a token, or a head of it.
template <class T>
[[nodiscard]] matrix<T> rms_norm(const matrix<T>& x, const matrix<T>& weight) {
  matrix<T> y{x.rows(), x.cols()};
  const std::size_t n = weight.size();
  for (std::size_t run = 0; run < x.size(); run += n) {
    const T* from = x.data() + run;
    const T inverse = detail::inverse_rms(from, n);
    for (std::size_t j = 0; j < n; ++j) y.data()[run + j] = weight.data()[j] * from[j] * inverse;
  }
  return y;
}

/// With n = x / rms(x): d_x += (weight d_y - n mean(n weight d_y)) / rms(x).
template <class T>
void rms_norm_backward(const matrix<T>& x, const matrix<T>& weight, const matrix<T>& d_y, matrix<T>& d_x, matrix<T>& d_weight) {
  const T* w = weight.data();
  const std::size_t n = weight.size();
  for (std::size_t run = 0; run < x.size(); run += n) {
    const T* from = x.data() + run;
    const T* d_out = d_y.data() + run;
    const T inverse = detail::inverse_rms(from, n);
    T along = 0;
    for (std::size_t j = 0; j < n; ++j) {
      d_weight.data()[j] += d_out[j] * from[j] * inverse;
      along += w[j] * d_out[j] * from[j] * inverse;
    }
    along /= static_cast<T>(n);
    for (std::size_t j = 0; j < n; ++j) d_x.data()[run + j] += (w[j] * d_out[j] - from[j] * inverse * along) * inverse;
  }
}

template <class T>
[[nodiscard]] T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

/// swish(a) * b by element, with swish(a) = a sigmoid(a): SwiGLU (arXiv 2002.05202) and GLA's output gate.
template <class T>
[[nodiscard]] matrix<T> swish_gate(const matrix<T>& a, const matrix<T>& b) {
  matrix<T> y{a.rows(), a.cols()};
  for (std::size_t i = 0; i < y.size(); ++i) y.data()[i] = a.data()[i] * sigmoid(a.data()[i]) * b.data()[i];
  return y;
}

template <class T>
struct swish_gate_gradients {
  matrix<T> d_a, d_b;
};

template <class T>
[[nodiscard]] swish_gate_gradients<T> swish_gate_backward(const matrix<T>& a, const matrix<T>& b, const matrix<T>& d_y) {
  matrix<T> d_a{a.rows(), a.cols()};
  matrix<T> d_b{b.rows(), b.cols()};
  for (std::size_t i = 0; i < d_y.size(); ++i) {
    const T x = a.data()[i];
    const T s = sigmoid(x);
    d_a.data()[i] = d_y.data()[i] * b.data()[i] * s * (1 + x * (1 - s));
    d_b.data()[i] = d_y.data()[i] * x * s;
  }
  return {std::move(d_a), std::move(d_b)};
}

/// Log decays <= 0 from unbounded numbers: log(sigmoid(z)) / 16. The divisor lets a state last: at z = 0 a token keeps
/// e^(-0.69 / 16) = 96 % of it (GLA, arXiv 2312.06635, section 4.4).
template <class T>
[[nodiscard]] matrix<T> decay_gate(const matrix<T>& z) {
  matrix<T> log_decay{z.rows(), z.cols()};
  for (std::size_t i = 0; i < z.size(); ++i) {
    const T x = z.data()[i];
    log_decay.data()[i] = (std::min(x, T(0)) - std::log1p(std::exp(-std::abs(x)))) / 16;
  }
  return log_decay;
}

template <class T>
[[nodiscard]] matrix<T> decay_gate_backward(const matrix<T>& z, const matrix<T>& d_log_decay) {
  matrix<T> d_z{z.rows(), z.cols()};
  for (std::size_t i = 0; i < z.size(); ++i) d_z.data()[i] = d_log_decay.data()[i] * sigmoid(-z.data()[i]) / 16;
  return d_z;
}

/// The z for which decay_gate(z) is `log_decay` < 0: with l = 16 log_decay, e^l = sigmoid(z), so z = log(e^l / (1 - e^l)).
[[nodiscard]] inline double decay_gate_inverse(double log_decay) {
  const double l = 16 * log_decay;
  return l - std::log(-std::expm1(l));
}

/// -log softmax(logits)[target] of each row, in nats.
template <class T>
[[nodiscard]] std::vector<double> cross_entropy(const matrix<T>& logits, bytes targets) {
  std::vector<double> losses(targets.size());
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const T* row = logits.row(t);
    const T largest = *std::max_element(row, row + logits.cols());
    double sum = 0;
    for (std::size_t j = 0; j < logits.cols(); ++j) sum += static_cast<double>(std::exp(row[j] - largest));
    losses[t] = std::log(sum) + static_cast<double>(largest - row[targets[t]]);
  }
  return losses;
}

/// The gradient of weight * (sum of the rows' cross entropies) on the logits: weight * (softmax(logits) - target).
template <class T>
[[nodiscard]] matrix<T> cross_entropy_backward(const matrix<T>& logits, bytes targets, T weight) {
  matrix<T> d_logits{logits.rows(), logits.cols()};
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const T* row = logits.row(t);
    T* d_row = d_logits.row(t);
    const T largest = *std::max_element(row, row + logits.cols());
    T sum = 0;
    for (std::size_t j = 0; j < logits.cols(); ++j) sum += d_row[j] = std::exp(row[j] - largest);
    for (std::size_t j = 0; j < logits.cols(); ++j) d_row[j] *= weight / sum;
    d_row[targets[t]] -= weight;
  }
  return d_logits;
}

}  // namespace lm
