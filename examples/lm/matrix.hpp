/// Row-major matrices and the one product that the model is made of.
#pragma once

#include <allscan/core/parallel.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace lm {

/// A dense matrix of zeros, row after row. Also a contiguous range of its elements, so that it is an operand of allscan.
template <class T>
class matrix {
 public:
  matrix() = default;
  matrix(std::size_t rows, std::size_t cols) : rows_{rows}, cols_{cols}, values_(rows * cols) {}

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] T* data() { return values_.data(); }
  [[nodiscard]] const T* data() const { return values_.data(); }
  [[nodiscard]] T* begin() { return data(); }
  [[nodiscard]] const T* begin() const { return data(); }
  [[nodiscard]] T* end() { return data() + size(); }
  [[nodiscard]] const T* end() const { return data() + size(); }
  [[nodiscard]] T* row(std::size_t i) { return data() + i * cols_; }
  [[nodiscard]] const T* row(std::size_t i) const { return data() + i * cols_; }

 private:
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
  std::vector<T> values_;
};

/// A matrix as a product reads it: element (i, j) is data[i * row_stride + j * col_stride].
template <class T>
struct factor {
  factor(const matrix<T>& m) : data{m.data()}, rows{m.rows()}, cols{m.cols()}, row_stride{m.cols()} {}

  const T* data;
  std::size_t rows;
  std::size_t cols;
  std::size_t row_stride;
  std::size_t col_stride = 1;
};

template <class T>
[[nodiscard]] factor<T> transposed(const matrix<T>& m) {
  factor<T> f{m};
  std::swap(f.rows, f.cols);
  std::swap(f.row_stride, f.col_stride);
  return f;
}

namespace detail {

/// A product is computed in tiles of `tile_rows` by `tile_cols` that live in registers, over `depth` terms of the sum at a
/// time, whose piece of the right factor is first packed into `depth` short rows that stay in the innermost cache.
inline constexpr std::size_t tile_rows = 4;
template <class T>
inline constexpr std::size_t tile_cols = 64 / sizeof(T);
inline constexpr std::size_t depth = 256;

/// out[i][j] = sum over k < terms of rows[i][k * stride] * panel[k][j]
template <class T>
void tile_product(const T* const* rows, std::size_t stride, std::size_t terms, const T* panel, T* out) {
  T sum[tile_rows][tile_cols<T>] = {};
  for (std::size_t k = 0; k < terms; ++k) {
    for (std::size_t i = 0; i < tile_rows; ++i) {
      const T left = rows[i][k * stride];
      for (std::size_t j = 0; j < tile_cols<T>; ++j) sum[i][j] += left * panel[k * tile_cols<T> + j];
    }
  }
  std::copy_n(&sum[0][0], tile_rows * tile_cols<T>, out);
}

/// Terms [first, first + terms) of columns [column, column + tile_cols) of b, with zeros past its last column.
template <class T>
void pack(const factor<T>& b, std::size_t first, std::size_t terms, std::size_t column, T* panel) {
  const std::size_t width = std::min(tile_cols<T>, b.cols - column);
  for (std::size_t k = 0; k < terms; ++k) {
    const T* from = b.data + (first + k) * b.row_stride + column * b.col_stride;
    T* to = panel + k * tile_cols<T>;
    for (std::size_t j = 0; j < width; ++j) to[j] = from[j * b.col_stride];
    std::fill(to + width, to + tile_cols<T>, T{});
  }
}

/// Rows [begin, end) of c += a b.
template <class T>
void add_product(const factor<T>& a, const factor<T>& b, matrix<T>& c, std::size_t begin, std::size_t end) {
  T panel[depth * tile_cols<T>];
  T tile[tile_rows * tile_cols<T>];
  for (std::size_t first = 0; first < a.cols; first += depth) {
    const std::size_t terms = std::min(depth, a.cols - first);
    for (std::size_t column = 0; column < b.cols; column += tile_cols<T>) {
      pack(b, first, terms, column, panel);
      const std::size_t width = std::min(tile_cols<T>, b.cols - column);
      for (std::size_t row = begin; row < end; row += tile_rows) {
        const std::size_t height = std::min(tile_rows, end - row);
        const T* rows[tile_rows];
        for (std::size_t i = 0; i < tile_rows; ++i) {
          rows[i] = a.data + (row + std::min(i, height - 1)) * a.row_stride + first * a.col_stride;
        }
        tile_product(rows, a.col_stride, terms, panel, tile);
        for (std::size_t i = 0; i < height; ++i) {
          T* to = c.row(row + i) + column;
          for (std::size_t j = 0; j < width; ++j) to[j] += tile[i * tile_cols<T> + j];
        }
      }
    }
  }
}

}  // namespace detail

/// c += a b. Every element is summed by one thread in an order that depends on the inner dimension only.
template <class T>
void add_product(const std::type_identity_t<factor<T>>& a, const std::type_identity_t<factor<T>>& b, matrix<T>& c) {
  const std::size_t tiles = (c.rows() + detail::tile_rows - 1) / detail::tile_rows;
  allscan::parallel_ranges(tiles, [&](allscan::unit_range mine, bool) {
    detail::add_product(a, b, c, mine.begin * detail::tile_rows, std::min(mine.end * detail::tile_rows, c.rows()));
  });
}

/// The product a b.
template <class T>
[[nodiscard]] matrix<T> product(const matrix<T>& a, const matrix<T>& b) {
  matrix<T> c{a.rows(), b.cols()};
  add_product<T>(a, b, c);
  return c;
}

}  // namespace lm
