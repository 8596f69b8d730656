/// Loops over one row that the kernels share.
#pragma once

#include <algorithm>
#include <cstddef>

namespace allscan::kernel {

/// Sum over n elements of a * b, in sixteen interleaved partial sums: the order does not depend on the register's width.
template <class T>
[[nodiscard]] T dot(std::size_t n, const T* __restrict a, const T* __restrict b) {
  constexpr std::size_t lanes = 16;
  T sum[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (std::size_t l = 0; l < lanes; ++l) sum[l] += a[i + l] * b[i + l];
  }
  for (std::size_t l = 0; i < n; ++i, ++l) sum[l] += a[i] * b[i];
  for (std::size_t width = lanes / 2; width > 0; width /= 2) {
    for (std::size_t l = 0; l < width; ++l) sum[l] += sum[l + width];
  }
  return sum[0];
}

/// y += a * x
template <class T>
void add_scaled(std::size_t n, T a, const T* __restrict x, T* __restrict y) {
  for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
}

/// to = from, or zeros where `from` is null
template <class T>
void copy_or_zero(const T* from, std::size_t n, T* to) {
  if (from != nullptr) {
    std::copy_n(from, n, to);
  } else {
    std::fill_n(to, n, T(0));
  }
}

}  // namespace allscan::kernel
