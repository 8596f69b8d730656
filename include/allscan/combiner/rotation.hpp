/// The rotation kind: each pair of rows (2i, 2i + 1) is turned and decayed as one.
#pragma once

#include <allscan/combiner/block.hpp>
#include <allscan/combiner/concepts.hpp>
#include <allscan/combiner/element_kinds.hpp>
#include <allscan/combiner/transition.hpp>
#include <allscan/core/shape.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace allscan::kind {

/// One number a pair of rows: [batch, heads, key_dim / 2]. A unit is a row pair, 2 * value_dim contiguous elements.
struct rotation {
  static constexpr std::string_view name = "rotation";
  static constexpr unit_form unit = unit_form::row_pair;

  [[nodiscard]] static constexpr std::size_t units(const state_shape& s) { return s.value_dim == 0 ? 0 : s.rows() / 2; }
  [[nodiscard]] static constexpr std::size_t unit_elements(const state_shape& s) { return 2 * s.value_dim; }
  [[nodiscard]] static constexpr std::size_t transitions(const state_shape& s) { return s.rows() / 2; }

  /// @throws invalid_argument if key_dim is odd.
  static void validate(const state_shape& s) {
    allscan::validate(s);
    if (s.key_dim % 2 != 0) {
      throw invalid_argument("a rotation turns pairs of rows: key_dim is " + std::to_string(s.key_dim) + " in the shape " +
                             to_string(s) + ", pass an even one");
    }
  }

  [[nodiscard]] static constexpr unit_range block(const state_shape& s, std::size_t blocks, std::size_t index) {
    return even_part(units(s), blocks, index);
  }
  [[nodiscard]] static constexpr bool packs(const state_shape&, const unit_range&) { return false; }
  [[nodiscard]] static constexpr unit_range transitions_of(const state_shape&, const unit_range& range) {
    return range.empty() ? unit_range{} : range;
  }

  template <class T>
  static void copy(const state_shape& s, const unit_range& range, block_view<const T> from, block_view<T> to) {
    const std::size_t each = unit_elements(s);
    detail::copy_elements(from.at(range, each), range.size() * each, to.at(range, each));
  }
  template <class T>
  static void fill(const state_shape& s, const unit_range& range, T value, block_view<T> to) {
    std::fill_n(to.at(range, unit_elements(s)), range.size() * unit_elements(s), value);
  }

  template <class C>
  [[nodiscard]] static bool resets(const C& c, const state_shape& s, const unit_range& range, const transition_view<C>& t) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      if (!unit_resets(c, s, i, t)) return false;
    }
    return true;
  }

  /// out = A carry + local over a range. `out` may be `carry` or `local`, exactly.
  template <class C>
  static void fold(const C& c, const state_shape& s, const unit_range& range, const transition_view<C>& t,
                   block_view<const scalar_of<C>> carry, block_view<const scalar_of<C>> local, block_view<scalar_of<C>> out) {
    const std::size_t each = unit_elements(s);
    const scalar_of<C>* const from = carry.at(range, each);
    const scalar_of<C>* const add = local.at(range, each);
    scalar_of<C>* const to = out.at(range, each);
    prepared_of<C> prepared[detail::prepared_at_once];
    for (std::size_t first = range.begin; first < range.end; first += detail::prepared_at_once) {
      const std::size_t end = std::min(first + detail::prepared_at_once, range.end);
      detail::prepare_numbers(c, t, first, end - first, prepared);
      for (std::size_t i = first; i < end; ++i) {
        const std::size_t at = (i - range.begin) * each;
        if (unit_resets(c, s, i, t)) {
          detail::copy_elements(add + at, each, to + at);
        } else {
          detail::fold_row_pair(c, prepared[i - first], from + at, add + at, to + at, s.value_dim);
        }
      }
    }
  }

  /// As element_kind::compose().
  template <class C>
  static void compose(const C& c, const state_shape&, const unit_range& range, const transition_view<C>& earlier,
                      const transition_view<C>& later, const transition_buffer<C>& out) {
    for (std::size_t i = range.begin; i < range.end; ++i) out.put(i, c.compose(earlier.number(i), later.number(i)));
  }

 private:
  template <class C>
  [[nodiscard]] static bool unit_resets(const C& c, const state_shape& s, std::size_t i, const transition_view<C>& t) {
    return allscan::is_reset(c, t.number(i)) || (t.reset != nullptr && t.flagged(i / (units(s) / s.batch)));
  }
};

}  // namespace allscan::kind
