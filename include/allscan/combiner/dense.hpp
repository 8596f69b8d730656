/// The dense kind: each head's rows are mixed by a key_dim x key_dim matrix.
#pragma once

#include <allscan/combiner/adjoint.hpp>
#include <allscan/combiner/block.hpp>
#include <allscan/combiner/concepts.hpp>
#include <allscan/combiner/transition.hpp>
#include <allscan/core/shape.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace allscan {

namespace detail {

/// Rows of one head, or of a part of its columns: `stride` elements from one row to the next.
template <class T>
struct row_block {
  T* data = nullptr;
  std::size_t stride = 0;
};

/// One head's matrix. Entry (i, j) of what is applied is prepared(i, j): of the adjoint, that of (j, i).
template <class C>
struct dense_matrix {
  const transition_of<C>* entries = nullptr;
  std::size_t key_dim = 0;
  bool transposed = false;
  scalar_of<C> factor{1};  ///< e^log_decay, in log space
};

inline constexpr std::size_t panel_rows = 64;   // j's packed at once
inline constexpr std::size_t matrix_rows = 16;  // i's packed at once
inline constexpr std::size_t panel_tiles = 4;   // tiles of columns packed at once

/// What is multiplied with a carry: the entry times the decay in log space, else what the combiner prepares.
template <class C>
struct dense_coefficient {
  using type = prepared_of<C>;
};
template <class C>
  requires is_log_space<C>
struct dense_coefficient<C> {
  using type = scalar_of<C>;
};

/// acc[l] = apply(coefficient_j, carry_j[l], acc[l]) for j ascending: one row of one tile of columns. Never inlined: the one
/// loop that every dense product goes through. Eight j's a turn, so that a column's sum stays in a register meanwhile.
template <class C>
ALLSCAN_NOINLINE void fold_tile(const C& c, const typename dense_coefficient<C>::type* coefficients, std::size_t n,
                                const scalar_of<C>* carry, scalar_of<C>* sums) {
  constexpr std::size_t width = fold_width<scalar_of<C>>;
  constexpr std::size_t turn = 8;
  scalar_of<C> acc[width];
  std::copy_n(sums, width, acc);
  std::size_t j = 0;
  for (; j + turn <= n; j += turn) {
    const typename dense_coefficient<C>::type* const a = coefficients + j;
    const scalar_of<C>* const row = carry + j * width;
    for (std::size_t l = 0; l < width; ++l) {
      scalar_of<C> sum = acc[l];
      for (std::size_t k = 0; k < turn; ++k) sum = c.apply(a[k], row[k * width + l], sum);
      acc[l] = sum;
    }
  }
  for (; j < n; ++j) {
    for (std::size_t l = 0; l < width; ++l) acc[l] = c.apply(coefficients[j], carry[j * width + l], acc[l]);
  }
  std::copy_n(acc, width, sums);
}

/// Prepares coefficients (i, j) for i in [i0, i0 + rows), j in [j0, j0 + n); row i begins at (i - i0) * panel_rows.
template <class C>
ALLSCAN_NOINLINE void prepare_panel(const C& c, const dense_matrix<C>& m, std::size_t i0, std::size_t rows, std::size_t j0,
                                    std::size_t n, typename dense_coefficient<C>::type* to) {
  const auto coefficient = [&](const transition_of<C>& entry) {
    if constexpr (is_log_space<C>) {
      return m.factor * entry;
    } else {
      return allscan::prepare(c, entry);
    }
  };
  if (m.transposed) {
    for (std::size_t j = 0; j < n; ++j) {
      const transition_of<C>* const row = m.entries + (j0 + j) * m.key_dim + i0;
      for (std::size_t i = 0; i < rows; ++i) to[i * panel_rows + j] = coefficient(row[i]);
    }
  } else {
    for (std::size_t i = 0; i < rows; ++i) {
      const transition_of<C>* const row = m.entries + (i0 + i) * m.key_dim + j0;
      for (std::size_t j = 0; j < n; ++j) to[i * panel_rows + j] = coefficient(row[j]);
    }
  }
}

/// out = A carry + local for `columns` columns; local may be null: the identity. `out` aliases neither.
/// Each output element sums over j in ascending order from its local value, however the columns are cut.
template <class C>
void multiply(const C& c, const dense_matrix<C>& m, row_block<const scalar_of<C>> carry, row_block<const scalar_of<C>> local,
              row_block<scalar_of<C>> out, std::size_t columns) {
  using Scalar = scalar_of<C>;
  constexpr std::size_t width = fold_width<scalar_of<C>>;
  Scalar panel[panel_tiles][panel_rows * width];
  typename dense_coefficient<C>::type coefficients[matrix_rows * panel_rows];
  Scalar acc[width];
  for (std::size_t c0 = 0; c0 < columns; c0 += panel_tiles * width) {
    const std::size_t group = std::min(columns - c0, panel_tiles * width);
    for (std::size_t j0 = 0; j0 < m.key_dim; j0 += panel_rows) {
      const std::size_t n = std::min(m.key_dim - j0, panel_rows);
      for (std::size_t tile = 0; tile * width < group; ++tile) {
        const std::size_t live = std::min(group - tile * width, width);
        for (std::size_t j = 0; j < n; ++j) {
          const Scalar* const row = carry.data + (j0 + j) * carry.stride + c0 + tile * width;
          pad(row, live, panel[tile] + j * width, width);
        }
      }
      for (std::size_t i0 = 0; i0 < m.key_dim; i0 += matrix_rows) {
        const std::size_t rows = std::min(m.key_dim - i0, matrix_rows);
        prepare_panel(c, m, i0, rows, j0, n, coefficients);
        for (std::size_t i = 0; i < rows; ++i) {
          for (std::size_t tile = 0; tile * width < group; ++tile) {
            const std::size_t live = std::min(group - tile * width, width);
            const std::size_t column = c0 + tile * width;
            Scalar* const to = out.data + (i0 + i) * out.stride + column;
            if (j0 != 0) {
              std::copy_n(to, live, acc);
            } else if (local.data == nullptr) {
              std::fill_n(acc, live, allscan::identity(c));
            } else {
              std::copy_n(local.data + (i0 + i) * local.stride + column, live, acc);
            }
            std::fill(acc + live, acc + width, acc[live - 1]);
            fold_tile(c, coefficients + i * panel_rows, n, panel[tile], acc);
            std::copy_n(acc, live, to);
          }
        }
      }
    }
  }
}

/// Calls f(head, first column, columns, packed elements before) for each head that a range of columns touches.
template <class F>
void for_each_head(const state_shape& s, const unit_range& range, F f) {
  for (std::size_t at = range.begin; at < range.end;) {
    const std::size_t head = at / s.value_dim;
    const std::size_t end = std::min((head + 1) * s.value_dim, range.end);
    f(head, at - head * s.value_dim, end - at, (at - range.begin) * s.key_dim);
    at = end;
  }
}

}  // namespace detail

namespace kind {

/// [batch, heads, key_dim, key_dim]. A unit is a column of a head. Packed: for each head of the range, key_dim rows of the
/// columns that the range has of it.
struct dense {
  static constexpr std::string_view name = "dense";
  static constexpr unit_form unit = unit_form::column;

  [[nodiscard]] static constexpr std::size_t units(const state_shape& s) {
    return s.key_dim == 0 ? 0 : s.matrices() * s.value_dim;
  }
  [[nodiscard]] static constexpr std::size_t unit_elements(const state_shape& s) { return s.key_dim; }
  /// Matrices.
  [[nodiscard]] static constexpr std::size_t transitions(const state_shape& s) { return s.matrices(); }
  static void validate(const state_shape& s) { allscan::validate(s); }

  /// Even parts; cut at whole heads as long as there are enough of them, so that nothing needs packing.
  [[nodiscard]] static constexpr unit_range block(const state_shape& s, std::size_t blocks, std::size_t index) {
    if (blocks > s.matrices() || units(s) == 0) return even_part(units(s), blocks, index);
    const unit_range heads = even_part(s.matrices(), blocks, index);
    return {heads.begin * s.value_dim, heads.end * s.value_dim};
  }
  [[nodiscard]] static constexpr bool packs(const state_shape& s, const unit_range& range) {
    return !range.empty() && (range.begin % s.value_dim != 0 || range.end % s.value_dim != 0);
  }
  [[nodiscard]] static constexpr unit_range transitions_of(const state_shape& s, const unit_range& range) {
    return detail::touched(range, s.value_dim);
  }

  template <class T>
  static void copy(const state_shape& s, const unit_range& range, block_view<const T> from, block_view<T> to) {
    detail::for_each_head(s, range, [&](std::size_t head, std::size_t column, std::size_t columns, std::size_t before) {
      copy_rows(s, rows(s, from, head, column, columns, before), rows(s, to, head, column, columns, before), columns);
    });
  }
  template <class T>
  static void fill(const state_shape& s, const unit_range& range, T value, block_view<T> to) {
    detail::for_each_head(s, range, [&](std::size_t head, std::size_t column, std::size_t columns, std::size_t before) {
      const detail::row_block<T> block = rows(s, to, head, column, columns, before);
      for (std::size_t i = 0; i < s.key_dim; ++i) std::fill_n(block.data + i * block.stride, columns, value);
    });
  }

  template <class C>
  [[nodiscard]] static bool resets(const C& c, const state_shape& s, const unit_range& range, const transition_view<C>& t) {
    const unit_range heads = transitions_of(s, range);
    for (std::size_t head = heads.begin; head < heads.end; ++head) {
      if (!head_resets(c, s, head, t)) return false;
    }
    return true;
  }

  /// out = A carry + local over a range of columns (adjoint: A^T). `out` aliases neither.
  template <class C>
  static void fold(const C& c, const state_shape& s, const unit_range& range, const transition_view<C>& t,
                   block_view<const scalar_of<C>> carry, block_view<const scalar_of<C>> local, block_view<scalar_of<C>> out) {
    detail::for_each_head(s, range, [&](std::size_t head, std::size_t column, std::size_t columns, std::size_t before) {
      const auto add = rows(s, local, head, column, columns, before);
      const auto to = rows(s, out, head, column, columns, before);
      if (head_resets(c, s, head, t)) {
        copy_rows(s, add, to, columns);
        return;
      }
      detail::dense_matrix<C> m{t.matrix(head, s.key_dim), s.key_dim, is_adjoint<C>};
      if constexpr (is_log_space<C>) m.factor = allscan::prepare(c, t.number(head));
      detail::multiply(c, m, rows(s, carry, head, column, columns, before), add, to, columns);
    });
  }

  /// Products of the range's matrices, in log space also sums of the log decays. `out` aliases neither. Reset flags are the
  /// caller's. Plain: A_later A_earlier. Adjoint: A_earlier A_later, since matrices are kept untransposed.
  template <class C>
  static void compose(const C& c, const state_shape& s, const unit_range& range, const transition_view<C>& earlier,
                      const transition_view<C>& later, const transition_buffer<C>& out) {
    const unit_range heads = transitions_of(s, range);
    for (std::size_t head = heads.begin; head < heads.end; ++head) {
      const auto* left = later.matrix(head, s.key_dim);
      const auto* right = earlier.matrix(head, s.key_dim);
      if constexpr (is_adjoint<C>) std::swap(left, right);
      const auto& product = allscan::plain(c);
      using Plain = std::remove_cvref_t<decltype(product)>;
      detail::multiply(product, detail::dense_matrix<Plain>{left, s.key_dim}, {right, s.key_dim}, {},
                       {out.transition + head * s.key_dim * s.key_dim, s.key_dim}, s.key_dim);
      if constexpr (is_log_space<C>) {
        if (out.log_decay != nullptr) out.log_decay[head] = c.compose(earlier.number(head), later.number(head));
      }
    }
  }

 private:
  template <class T>
  [[nodiscard]] static constexpr detail::row_block<T> rows(const state_shape& s, const block_view<T>& block, std::size_t head,
                                                           std::size_t column, std::size_t columns, std::size_t before) {
    if (block.packed) return {block.data + before, columns};
    return {block.data + head * s.key_dim * s.value_dim + column, s.value_dim};
  }

  template <class T>
  static void copy_rows(const state_shape& s, const detail::row_block<const T>& from, const detail::row_block<T>& to,
                        std::size_t columns) {
    for (std::size_t i = 0; i < s.key_dim; ++i) {
      detail::copy_elements(from.data + i * from.stride, columns, to.data + i * to.stride);
    }
  }

  template <class C>
  [[nodiscard]] static bool head_resets(const C& c, const state_shape& s, std::size_t head, const transition_view<C>& t) {
    if constexpr (is_log_space<C>) {
      if (allscan::is_reset(c, t.number(head))) return true;
    }
    return t.reset != nullptr && t.flagged(head / s.heads);
  }
};

}  // namespace kind
}  // namespace allscan
