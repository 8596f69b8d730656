/// Blocks of a state in memory, and the one loop per combiner that folds a row.
#pragma once

#include <allscan/combiner/concepts.hpp>
#include <allscan/core/shape.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace allscan {

/// Where a block's elements lie. Packed: `data` is the block's first element, units one after the other in the kind's packed
/// order. Else `data` is the first element of the whole tensor. The two differ by an offset only, unless Kind::packs().
template <class T>
struct block_view {
  T* data = nullptr;
  bool packed = false;

  /// A block that is read may come from memory that could be written.
  constexpr operator block_view<const T>() const
    requires(!std::is_const_v<T>)
  {
    return {data, packed};
  }

  /// The first element of the range, for kinds whose units are contiguous in the tensor.
  [[nodiscard]] constexpr T* at(const unit_range& range, std::size_t unit_elements) const {
    return packed ? data : data + range.begin * unit_elements;
  }
};

namespace detail {

/// Elements folded by one turn of a row fold. Every element goes through the same full turn, wherever a block was cut: a
/// ragged row's last turn overlaps the one before, a shorter row is padded. So neither vectorisation nor contraction into FMA
/// can make an element's bits depend on its position.
template <class Scalar>
inline constexpr std::size_t fold_width = 128 / sizeof(Scalar);

/// Fills to[0, width) with row[0, n) and then row's last element again and again. 1 <= n <= width.
template <class T>
constexpr void pad(const T* row, std::size_t n, T* to, std::size_t width) {
  std::copy_n(row, n, to);
  std::fill_n(to + n, width - n, row[n - 1]);
}

/// Calls turn(i, last) for the turns that cover [0, n), n >= width. A ragged row's last turn comes first: in place its inputs
/// would be overwritten, so its result is kept aside and stored at the end.
template <class Turn>
void in_turns(std::size_t n, std::size_t width, Turn turn) {
  const std::size_t turns = n / width;
  for (std::size_t k = n % width == 0 ? 1 : 0; k <= turns; ++k) turn(k == 0 ? n - width : (k - 1) * width, k == 0);
}

/// out[0, n) = apply(prepared, carry, local). `out` may be `carry` or `local`, exactly.
/// Never inlined: one copy in a binary, so that all callers get the same rounding.
template <class C>
ALLSCAN_NOINLINE void fold_row(const C& c, const prepared_of<C>& number, const scalar_of<C>* carry, const scalar_of<C>* local,
                               scalar_of<C>* out, std::size_t n) {
  using Scalar = scalar_of<C>;
  constexpr std::size_t width = fold_width<Scalar>;
  const prepared_of<C> prepared = number;
  Scalar last[width];
  if (n < width) {
    Scalar rows[2][width];
    pad(carry, n, rows[0], width);
    pad(local, n, rows[1], width);
    fold_row(c, prepared, rows[0], rows[1], last, width);
    std::copy_n(last, n, out);
    return;
  }
  in_turns(n, width, [&](std::size_t i, bool keep) {
    Scalar result[width];
    for (std::size_t l = 0; l < width; ++l) result[l] = c.apply(prepared, carry[i + l], local[i + l]);
    std::copy_n(result, width, keep ? last : out + i);
  });
  if (n % width != 0) std::copy_n(last, width, out + n - width);
}

/// The same for the two rows of a pair, n elements each, one row after the other.
template <class C>
ALLSCAN_NOINLINE void fold_row_pair(const C& c, const prepared_of<C>& number, const scalar_of<C>* carry,
                                    const scalar_of<C>* local, scalar_of<C>* out, std::size_t n) {
  using Scalar = scalar_of<C>;
  constexpr std::size_t width = fold_width<Scalar>;
  const prepared_of<C> prepared = number;
  Scalar last[2 * width];
  if (n < width) {
    Scalar rows[2][2 * width];
    for (std::size_t r = 0; r < 2; ++r) {
      pad(carry + r * n, n, rows[0] + r * width, width);
      pad(local + r * n, n, rows[1] + r * width, width);
    }
    fold_row_pair(c, prepared, rows[0], rows[1], last, width);
    for (std::size_t r = 0; r < 2; ++r) std::copy_n(last + r * width, n, out + r * n);
    return;
  }
  in_turns(n, width, [&](std::size_t i, bool keep) {
    Scalar x[width];
    Scalar y[width];
    for (std::size_t l = 0; l < width; ++l) {
      const pair<Scalar> value =
          c.apply(prepared, pair<Scalar>{carry[i + l], carry[n + i + l]}, pair<Scalar>{local[i + l], local[n + i + l]});
      x[l] = value.x;
      y[l] = value.y;
    }
    std::copy_n(x, width, keep ? last : out + i);
    std::copy_n(y, width, keep ? last + width : out + n + i);
  });
  if (n % width != 0) {
    std::copy_n(last, width, out + n - width);
    std::copy_n(last + width, width, out + 2 * n - width);
  }
}

/// The same where every element has a prepared number of its own; `width` elements at a time.
template <class C>
ALLSCAN_NOINLINE void fold_each(const C& c, const prepared_of<C>* prepared, const scalar_of<C>* carry,
                                const scalar_of<C>* local, scalar_of<C>* result) {
  for (std::size_t l = 0; l < fold_width<scalar_of<C>>; ++l) result[l] = c.apply(prepared[l], carry[l], local[l]);
}

/// Copies within one range, which `from` and `to` may share.
template <class Scalar>
void copy_elements(const Scalar* from, std::size_t n, Scalar* to) {
  if (n != 0 && from != to) std::copy_n(from, n, to);
}

/// Items [begin / each, ceil(end / each)) touched by a range of units, of which each item has `each`.
[[nodiscard]] constexpr unit_range touched(const unit_range& range, std::size_t each) {
  if (range.empty()) return {};
  return {range.begin / each, (range.end - 1) / each + 1};
}

}  // namespace detail
}  // namespace allscan
