/// Small matrix products on strided rows. Every element of a result is summed in the same order whatever the blocking, and a
/// row of the result depends on its own row of `a` only.
#pragma once

#include <allscan/core/config.hpp>
#include <allscan/kernel/simd.hpp>

#include <cstddef>

namespace allscan::cpu {

/// A matrix whose element (i, j) is data[i * row + j * column]: a transposed one exchanges the strides.
template <class T>
struct operand {
  const T* data = {};
  std::size_t row = 0;
  std::size_t column = 1;

  [[nodiscard]] operand from(std::size_t i) const { return {data + i * row, row, column}; }
};

namespace detail {

/// c += a b for `Rows` rows of c and `Columns` registers of columns, held in registers over the depth.
template <std::size_t Rows, std::size_t Columns, class T>
inline void multiply_block(std::size_t depth, operand<T> a, const T* b, std::size_t b_row, T* c, std::size_t c_row) {
  using simd = kernel::simd<T>;
  typename simd::vector sum[Rows][Columns];
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t l = 0; l < Columns; ++l) sum[r][l] = simd::load(c + r * c_row + l * simd::lanes);
  }
  for (std::size_t p = 0; p < depth; ++p) {
    typename simd::vector row[Columns];
    for (std::size_t l = 0; l < Columns; ++l) row[l] = simd::load(b + p * b_row + l * simd::lanes);
    for (std::size_t r = 0; r < Rows; ++r) {
      const T factor = a.data[r * a.row + p * a.column];
      for (std::size_t l = 0; l < Columns; ++l) sum[r][l] += factor * row[l];
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t l = 0; l < Columns; ++l) simd::store(sum[r][l], c + r * c_row + l * simd::lanes);
  }
}

template <std::size_t Rows, class T>
inline void multiply_rows(std::size_t n, std::size_t depth, operand<T> a, const T* b, std::size_t b_row, T* c,
                          std::size_t c_row) {
  constexpr std::size_t lanes = kernel::simd<T>::lanes;
  constexpr std::size_t wide = Rows > 2 ? 2 : 4;
  std::size_t j = 0;
  for (; j + wide * lanes <= n; j += wide * lanes) multiply_block<Rows, wide>(depth, a, b + j, b_row, c + j, c_row);
  for (; j + lanes <= n; j += lanes) multiply_block<Rows, 1>(depth, a, b + j, b_row, c + j, c_row);
  for (std::size_t rest = n % lanes; rest > 0; --rest, ++j) {
    for (std::size_t r = 0; r < Rows; ++r) {
      T sum = c[r * c_row + j];
      for (std::size_t p = 0; p < depth; ++p) sum += a.data[r * a.row + p * a.column] * b[p * b_row + j];
      c[r * c_row + j] = sum;
    }
  }
}

/// c += a b^T for `Rows` rows of a and `Columns` rows of b.
template <std::size_t Rows, std::size_t Columns, class T>
inline void dot_block(std::size_t depth, const T* a, std::size_t a_row, const T* b, std::size_t b_row, T* c,
                      std::size_t c_row) {
  using simd = kernel::simd<T>;
  typename simd::vector sum[Rows][Columns] = {};
  std::size_t p = 0;
  for (; p + simd::lanes <= depth; p += simd::lanes) {
    typename simd::vector row[Columns];
    for (std::size_t l = 0; l < Columns; ++l) row[l] = simd::load(b + l * b_row + p);
    for (std::size_t r = 0; r < Rows; ++r) {
      const auto factor = simd::load(a + r * a_row + p);
      for (std::size_t l = 0; l < Columns; ++l) sum[r][l] += factor * row[l];
    }
  }
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t l = 0; l < Columns; ++l) {
      T total = simd::sum(sum[r][l]);
      for (std::size_t rest = depth % simd::lanes; rest > 0; --rest) {
        total += a[r * a_row + depth - rest] * b[l * b_row + depth - rest];
      }
      c[r * c_row + l] += total;
    }
  }
}

template <std::size_t Rows, class T>
inline void dot_rows(std::size_t n, std::size_t depth, const T* a, std::size_t a_row, const T* b, std::size_t b_row, T* c,
                     std::size_t c_row) {
  std::size_t j = 0;
  for (; j + 2 <= n; j += 2) dot_block<Rows, 2>(depth, a, a_row, b + j * b_row, b_row, c + j, c_row);
  if (j < n) dot_block<Rows, 1>(depth, a, a_row, b + j * b_row, b_row, c + j, c_row);
}

}  // namespace detail

/// c[m, n] += a[m, depth] b[depth, n]; rows of b and c are contiguous, c overlaps neither a nor b.
template <class T>
ALLSCAN_NOINLINE void multiply_add(std::size_t m, std::size_t n, std::size_t depth, operand<T> a, const T* b, std::size_t b_row,
                                   T* c, std::size_t c_row) {
  std::size_t i = 0;
  for (; i + 6 <= m; i += 6) detail::multiply_rows<6>(n, depth, a.from(i), b, b_row, c + i * c_row, c_row);
  for (; i + 2 <= m; i += 2) detail::multiply_rows<2>(n, depth, a.from(i), b, b_row, c + i * c_row, c_row);
  if (i < m) detail::multiply_rows<1>(n, depth, a.from(i), b, b_row, c + i * c_row, c_row);
}

/// c[m, n] += a[m, depth] b[n, depth]^T; rows of a and b are contiguous, c overlaps neither.
template <class T>
ALLSCAN_NOINLINE void multiply_add_transposed(std::size_t m, std::size_t n, std::size_t depth, const T* a, std::size_t a_row,
                                              const T* b, std::size_t b_row, T* c, std::size_t c_row) {
  std::size_t i = 0;
  for (; i + 4 <= m; i += 4) detail::dot_rows<4>(n, depth, a + i * a_row, a_row, b, b_row, c + i * c_row, c_row);
  for (; i < m; ++i) detail::dot_rows<1>(n, depth, a + i * a_row, a_row, b, b_row, c + i * c_row, c_row);
}

}  // namespace allscan::cpu
