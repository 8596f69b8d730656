/// Running sums of x * dx over tokens: what gradients on gates are made of.
#pragma once

#include <allscan/kernel/row.hpp>
#include <allscan/kernel/tokens.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace allscan::cpu {

template <class Gate, class T>
class gate_sum {
 public:
  explicit gate_sum(std::size_t key_dim) : key_dim_{key_dim}, sum_(kernel::gate_width<Gate>(key_dim)) {}

  void reset() { std::fill(sum_.begin(), sum_.end(), T(0)); }

  /// Adds x[d] * dx[d]; a scalar gate takes the sum over d.
  void collect(const T* x, const T* dx) {
    if constexpr (std::is_same_v<Gate, kind::scalar>) {
      sum_[0] += kernel::dot(key_dim_, x, dx);
    } else {
      T* sum = sum_.data();
      for (std::size_t d = 0; d < key_dim_; ++d) sum[d] += x[d] * dx[d];
    }
  }

  /// to += the sums so far
  void add_to(T* to) const { kernel::add_scaled(sum_.size(), T(1), sum_.data(), to); }

  /// Adds x to the sum of the gate of key dimension d.
  void add(std::size_t d, T x) { sum_[std::is_same_v<Gate, kind::scalar> ? 0 : d] += x; }

 private:
  std::size_t key_dim_;
  std::vector<T> sum_;
};

}  // namespace allscan::cpu
