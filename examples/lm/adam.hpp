/// The optimizer: Adam (arXiv 1412.6980) with a warm-up and a cosine decay of the learning rate.
#pragma once

#include "parameters.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace lm {

/// Rises linearly over the first `warmup` steps, then falls to a tenth along half a cosine until the last of `steps`.
struct learning_rate {
  double peak = 1e-2;
  std::size_t warmup = 10;
  std::size_t steps = 1;

  [[nodiscard]] double at(std::size_t step) const {
    if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
    const double progress = static_cast<double>(step - warmup) / static_cast<double>(std::max(steps, warmup + 1) - warmup);
    return peak * (0.55 + 0.45 * std::cos(std::numbers::pi * progress));
  }
};

template <class T>
class adam {
 public:
  explicit adam(const model_shape& shape) : mean_{shape}, variance_{shape} {}

  /// One step of the given size against `gradient`.
  void update(parameters<T>& w, parameters<T>& gradient, double rate) {
    ++steps_;
    const T scaled_rate = static_cast<T>(rate / (1 - std::pow(mean_decay, steps_)));
    const T variance_bias = static_cast<T>(1 - std::pow(variance_decay, steps_));
    const auto all_w = tensors(w);
    const auto all_g = tensors(gradient);
    const auto all_m = tensors(mean_);
    const auto all_v = tensors(variance_);
    for (std::size_t i = 0; i < all_w.size(); ++i) {
      T* x = all_w[i].values->data();
      const T* g = all_g[i].values->data();
      T* m = all_m[i].values->data();
      T* v = all_v[i].values->data();
      for (std::size_t j = 0; j < all_w[i].values->size(); ++j) {
        m[j] += static_cast<T>(1 - mean_decay) * (g[j] - m[j]);
        v[j] += static_cast<T>(1 - variance_decay) * (g[j] * g[j] - v[j]);
        x[j] -= scaled_rate * m[j] / (std::sqrt(v[j] / variance_bias) + static_cast<T>(epsilon));
      }
    }
  }

 private:
  static constexpr double mean_decay = 0.9;
  static constexpr double variance_decay = 0.99;
  static constexpr double epsilon = 1e-8;

  parameters<T> mean_;
  parameters<T> variance_;
  int steps_ = 0;
};

}  // namespace lm
