/// The kinds whose unit is an element: none, scalar, diagonal, elementwise.
#pragma once

#include <allscan/combiner/block.hpp>
#include <allscan/combiner/concepts.hpp>
#include <allscan/combiner/transition.hpp>
#include <allscan/core/shape.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace allscan {

namespace detail {

/// How many transition numbers are prepared at once: independent work, so that exponentials overlap or vectorise.
inline constexpr std::size_t prepared_at_once = 64;  // a multiple of 16, at least fold_width

/// to[i] = prepare(number(first + i)) for i < n, and something for i up to the next multiple of 16: full turns, as in fold_row.
template <class C>
ALLSCAN_NOINLINE void prepare_numbers(const C& c, const transition_view<C>& t, std::size_t first, std::size_t n,
                                      prepared_of<C>* to) {
  constexpr std::size_t width = 16;
  const transition_view<C> view = t;
  for (std::size_t i = 0; i < n; i += width) {
    transition_of<C> numbers[width];
    if (n - i >= width) {  // a copy of known length is a few loads
      for (std::size_t l = 0; l < width; ++l) numbers[l] = view.number(first + i + l);
    } else {
      for (std::size_t l = 0; l < width; ++l) numbers[l] = view.number(first + std::min(i + l, n - 1));
    }
    for (std::size_t l = 0; l < width; ++l) to[i + l] = allscan::prepare(c, numbers[l]);
  }
}

/// What the element kinds share. `Kind` says how many elements share a transition number.
template <class Kind>
struct element_kind {
  static constexpr unit_form unit = unit_form::element;

  [[nodiscard]] static constexpr std::size_t units(const state_shape& s) { return s.elements(); }
  [[nodiscard]] static constexpr std::size_t unit_elements(const state_shape&) { return 1; }
  static void validate(const state_shape& s) { allscan::validate(s); }

  /// Part `index` of `blocks` even parts; empty where there are more blocks than units.
  [[nodiscard]] static constexpr unit_range block(const state_shape& s, std::size_t blocks, std::size_t index) {
    return even_part(units(s), blocks, index);
  }
  /// True if the packed form of a range differs from the tensor's by more than an offset.
  [[nodiscard]] static constexpr bool packs(const state_shape&, const unit_range&) { return false; }

  /// The transition numbers that a range of units needs.
  [[nodiscard]] static constexpr unit_range transitions_of(const state_shape& s, const unit_range& range) {
    return touched(range, Kind::elements_per_transition(s));
  }

  template <class T>
  static void copy(const state_shape&, const unit_range& range, block_view<const T> from, block_view<T> to) {
    copy_elements(from.at(range, 1), range.size(), to.at(range, 1));
  }
  template <class T>
  static void fill(const state_shape&, const unit_range& range, T value, block_view<T> to) {
    std::fill_n(to.at(range, 1), range.size(), value);
  }

  /// True if the range's result does not depend on the carry: every unit resets, by flag or by its number.
  template <class C>
  [[nodiscard]] static bool resets(const C& c, const state_shape& s, const unit_range& range, const transition_view<C>& t) {
    const unit_range batches = batches_of<Kind>(s, range);
    for (std::size_t b = batches.begin; b < batches.end; ++b) {
      if (!t.flagged(b) && !Kind::numbers_reset(c, Kind::transitions_of(s, part_of(s, range, b)), t)) return false;
    }
    return true;
  }

  /// out = A carry + local over a range. `out` may be `carry` or `local`, exactly.
  template <class C>
  static void fold(const C& c, const state_shape& s, const unit_range& range, const transition_view<C>& t,
                   block_view<const scalar_of<C>> carry, block_view<const scalar_of<C>> local, block_view<scalar_of<C>> out) {
    const scalar_of<C>* const from = carry.at(range, 1);
    const scalar_of<C>* const add = local.at(range, 1);
    scalar_of<C>* const to = out.at(range, 1);
    const unit_range batches = batches_of<Kind>(s, range);
    for (std::size_t b = batches.begin; b < batches.end; ++b) {
      const unit_range part = part_of(s, range, b);
      const std::size_t at = part.begin - range.begin;
      if (t.flagged(b)) {
        copy_elements(add + at, part.size(), to + at);
      } else {
        Kind::fold_part(c, s, part, t, from + at, add + at, to + at);
      }
    }
  }

  /// Composes the range's numbers of the summary `earlier`, then `later`. `out` may be one of them. Reset flags are the
  /// caller's.
  template <class C>
  static void compose(const C& c, const state_shape& s, const unit_range& range, const transition_view<C>& earlier,
                      const transition_view<C>& later, const transition_buffer<C>& out) {
    const unit_range numbers = Kind::transitions_of(s, range);
    for (std::size_t i = numbers.begin; i < numbers.end; ++i) out.put(i, c.compose(earlier.number(i), later.number(i)));
  }

 protected:
  /// What of a range lies in batch row b.
  [[nodiscard]] static constexpr unit_range part_of(const state_shape& s, const unit_range& range, std::size_t b) {
    const std::size_t each = units(s) / s.batch;
    return {std::max(b * each, range.begin), std::min((b + 1) * each, range.end)};
  }

  template <class C>
  [[nodiscard]] static bool numbers_reset(const C& c, const unit_range& numbers, const transition_view<C>& t) {
    for (std::size_t i = numbers.begin; i < numbers.end; ++i) {
      if (!allscan::is_reset(c, t.number(i))) return false;
    }
    return true;
  }

  /// A part of one batch row whose flag is not set; carry, local and out begin with the part.
  template <class C>
  static void fold_part(const C& c, const state_shape& s, const unit_range& part, const transition_view<C>& t,
                        const scalar_of<C>* carry, const scalar_of<C>* local, scalar_of<C>* out) {
    const std::size_t each = Kind::elements_per_transition(s);
    if (each < fold_width<scalar_of<C>>) {
      fold_short_rows(c, s, part, t, carry, local, out);
      return;
    }
    const unit_range rows = Kind::transitions_of(s, part);
    prepared_of<C> prepared[prepared_at_once];
    for (std::size_t first = rows.begin; first < rows.end; first += prepared_at_once) {
      const std::size_t end = std::min(first + prepared_at_once, rows.end);
      prepare_numbers(c, t, first, end - first, prepared);
      for (std::size_t i = first; i < end; ++i) {
        const std::size_t at = std::max(i * each, part.begin) - part.begin;
        const std::size_t n = std::min((i + 1) * each, part.end) - part.begin - at;
        if (allscan::is_reset(c, t.number(i))) {
          copy_elements(local + at, n, out + at);
        } else {
          fold_row(c, prepared[i - first], carry + at, local + at, out + at, n);
        }
      }
    }
  }

  /// Rows of fewer elements than a turn: turns run over several rows, each element with its row's number.
  template <class C>
  static void fold_short_rows(const C& c, const state_shape& s, const unit_range& part, const transition_view<C>& t,
                              const scalar_of<C>* carry, const scalar_of<C>* local, scalar_of<C>* out) {
    constexpr std::size_t width = fold_width<scalar_of<C>>;
    const std::size_t each = Kind::elements_per_transition(s);
    prepared_of<C> numbers[prepared_at_once];
    prepared_of<C> spread[width];
    scalar_of<C> padded[2][width];
    scalar_of<C> result[width];
    for (unit_range turn{part.begin, part.begin}; turn.end < part.end; turn.begin = turn.end) {
      turn.end = std::min(turn.begin + width, part.end);
      const std::size_t n = turn.size();
      const std::size_t at = turn.begin - part.begin;
      const unit_range rows = Kind::transitions_of(s, turn);
      // calls f(row, its first element within the turn, its elements within the turn)
      const auto for_each_row = [&](auto f) {
        for (std::size_t i = rows.begin; i < rows.end; ++i) {
          const std::size_t begin = std::max(i * each, turn.begin);
          f(i, begin - turn.begin, std::min((i + 1) * each, turn.end) - begin);
        }
      };
      prepare_numbers(c, t, rows.begin, rows.size(), numbers);
      const prepared_of<C>* prepared = numbers;
      if (each != 1 || n < width) {
        for_each_row([&](std::size_t i, std::size_t l, std::size_t m) { std::fill_n(spread + l, m, numbers[i - rows.begin]); });
        std::fill(spread + n, spread + width, spread[n - 1]);
        prepared = spread;
      }
      const scalar_of<C>* from = carry + at;
      const scalar_of<C>* add = local + at;
      if (n < width) {
        pad(from, n, padded[0], width);
        pad(add, n, padded[1], width);
        from = padded[0];
        add = padded[1];
      }
      fold_each(c, prepared, from, add, result);
      bool any = false;
      for (std::size_t i = rows.begin; i < rows.end; ++i) any |= allscan::is_reset(c, t.number(i));
      if (any) {
        for_each_row([&](std::size_t i, std::size_t l, std::size_t m) {
          if (allscan::is_reset(c, t.number(i))) std::copy_n(add + l, m, result + l);
        });
      }
      std::copy_n(result, n, out + at);
    }
  }
};

}  // namespace detail

namespace kind {

/// out = carry + local: linear attention. Only a reset flag ends a state.
struct none : detail::element_kind<none> {
  static constexpr std::string_view name = "none";
  [[nodiscard]] static constexpr std::size_t transitions(const state_shape&) { return 0; }
  [[nodiscard]] static constexpr unit_range transitions_of(const state_shape&, const unit_range&) { return {}; }

  template <class C>
  static void compose(const C&, const state_shape&, const unit_range&, const transition_view<C>&, const transition_view<C>&,
                      const transition_buffer<C>&) {}

 private:
  friend detail::element_kind<none>;
  template <class C>
  [[nodiscard]] static bool numbers_reset(const C&, const unit_range&, const transition_view<C>&) {
    return false;
  }
  template <class C>
  static void fold_part(const C& c, const state_shape&, const unit_range& part, const transition_view<C>&,
                        const scalar_of<C>* carry, const scalar_of<C>* local, scalar_of<C>* out) {
    detail::fold_row(c, prepared_of<C>{}, carry, local, out, part.size());
  }
};

/// One number a head: [batch, heads].
struct scalar : detail::element_kind<scalar> {
  static constexpr std::string_view name = "scalar";
  [[nodiscard]] static constexpr std::size_t transitions(const state_shape& s) { return s.matrices(); }
  [[nodiscard]] static constexpr std::size_t elements_per_transition(const state_shape& s) { return s.key_dim * s.value_dim; }
};

/// One number a row: [batch, heads, key_dim].
struct diagonal : detail::element_kind<diagonal> {
  static constexpr std::string_view name = "diagonal";
  [[nodiscard]] static constexpr std::size_t transitions(const state_shape& s) { return s.rows(); }
  [[nodiscard]] static constexpr std::size_t elements_per_transition(const state_shape& s) { return s.value_dim; }
};

/// One number an element, shaped as the state.
struct elementwise : detail::element_kind<elementwise> {
  static constexpr std::string_view name = "elementwise";
  [[nodiscard]] static constexpr std::size_t transitions(const state_shape& s) { return s.elements(); }
  [[nodiscard]] static constexpr std::size_t elements_per_transition(const state_shape&) { return 1; }
};

}  // namespace kind
}  // namespace allscan
