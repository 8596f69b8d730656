/// What every kind of transition must do, checked against plain loops over indices that share no code with the library.
#pragma once

#include <allscan/combiner/adjoint.hpp>
#include <allscan/combiner/decay.hpp>
#include <allscan/combiner/kinds.hpp>
#include <allscan/combiner/law_inputs.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace allscan::test {

template <class C>
using summary_of = detail::owned_summary<C>;

/// A summary of which about one transition number in eight resets, and the carry that meets it.
template <class C>
struct fold_case {
  using scalar = scalar_of<C>;
  C c{};
  state_shape shape;
  summary_of<C> summary;
  std::vector<scalar> carry;

  explicit fold_case(const state_shape& s, std::uint64_t seed = 1) : shape{s}, summary{s} {
    const law_options<C> options{.shape = s, .seed = seed};
    detail::law_inputs<C> inputs{c, options};
    summary = inputs.summary();
    carry = inputs.state();
  }

  [[nodiscard]] resolved_operands<C> operands() { return resolve(shape, summary.template as<scan_operands<C>>()); }
  [[nodiscard]] std::vector<scalar> fold() {
    std::vector<scalar> out(shape.elements());
    const auto o = operands();
    kind_of<C>::fold(c, shape, {0, kind_of<C>::units(shape)}, o.transition, {carry.data(), false}, {o.state, false},
                     {out.data(), false});
    return out;
  }
  [[nodiscard]] bool resets() { return kind_of<C>::resets(c, shape, {0, kind_of<C>::units(shape)}, operands().transition); }
};

/// e^log_decay, or the custom number itself, of head, row, element or row pair i.
template <class Wide, class C>
Wide factor_of(const summary_of<C>& s, std::size_t i) {
  if constexpr (detail::takes_log_decay<C>) {
    return std::exp(static_cast<Wide>(s.log_decay[i]));
  } else {
    return static_cast<Wide>(s.transition.get()[i]);
  }
}

/// out = A carry + S, or A^T carry + S, index by index, in `Wide`.
template <class Wide, class C>
std::vector<Wide> expected_fold(const state_shape& n, const summary_of<C>& s, const std::vector<scalar_of<C>>& carry) {
  using Kind = kind_of<C>;
  std::vector<Wide> out(s.state.begin(), s.state.end());
  for (std::size_t head = 0; head < n.batch * n.heads; ++head) {
    if (s.reset[head / n.heads] != 0) continue;
    for (std::size_t i = 0; i < n.key_dim; ++i) {
      for (std::size_t v = 0; v < n.value_dim; ++v) {
        const std::size_t row = head * n.key_dim + i;
        const std::size_t at = row * n.value_dim + v;
        const auto x = [&](std::size_t r) { return static_cast<Wide>(carry[(head * n.key_dim + r) * n.value_dim + v]); };
        if constexpr (std::is_same_v<Kind, kind::none>) {
          out[at] += x(i);
        } else if constexpr (std::is_same_v<Kind, kind::rotation>) {
          const std::size_t p = head * (n.key_dim / 2) + i / 2;
          Wide re{};
          Wide im{};
          if constexpr (is_log_space<C>) {
            const Wide factor = factor_of<Wide, C>(s, p);
            re = factor * std::cos(static_cast<Wide>(s.angle[p]));
            im = factor * std::sin(static_cast<Wide>(s.angle[p]));
          } else {
            re = s.transition.get()[p].x;
            im = s.transition.get()[p].y;
          }
          if (is_adjoint<C>) im = Wide{} - im;
          out[at] += i % 2 == 0 ? re * x(i) - im * x(i + 1) : im * x(i - 1) + re * x(i);
        } else if constexpr (std::is_same_v<Kind, kind::dense>) {
          Wide sum{};
          for (std::size_t j = 0; j < n.key_dim; ++j) {
            const std::size_t entry = is_adjoint<C> ? j * n.key_dim + i : i * n.key_dim + j;
            sum += static_cast<Wide>(s.transition.get()[head * n.key_dim * n.key_dim + entry]) * x(j);
          }
          if constexpr (is_log_space<C>) sum *= factor_of<Wide, C>(s, head);
          out[at] += sum;
        } else {
          out[at] += factor_of<Wide, C>(s, std::is_same_v<Kind, kind::scalar>     ? head
                                           : std::is_same_v<Kind, kind::diagonal> ? row
                                                                                  : at) *
                     x(i);
        }
      }
    }
  }
  return out;
}

/// Integers exactly; float and double within rounding of a sum of key_dim terms.
template <class C>
void expect_folds_as_the_formula(const state_shape& shape) {
  using scalar = scalar_of<C>;
  SCOPED_TRACE(to_string(shape));
  fold_case<C> f{shape};
  if constexpr (std::is_integral_v<scalar>) {
    EXPECT_EQ(f.fold(), (expected_fold<scalar, C>(shape, f.summary, f.carry)));
  } else {
    const auto out = f.fold();
    const auto expected = expected_fold<long double, C>(shape, f.summary, f.carry);
    const double tolerance =
        8 * static_cast<double>(std::numeric_limits<scalar>::epsilon() * static_cast<scalar>(4 + shape.key_dim));
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(out[i]), static_cast<double>(expected[i]), tolerance) << "element " << i;
    }
  }
}

template <class T>
void expect_same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(std::memcmp(&a[i], &b[i], sizeof(T)), 0) << "element " << i << ": " << a[i] << " and " << b[i];
  }
}

/// Folds the ranges one after the other, every operand packed or not as `packed`'s bits say; the result as one tensor.
template <class C>
std::vector<scalar_of<C>> fold_ranges(fold_case<C>& f, const std::vector<unit_range>& ranges, unsigned packed) {
  using scalar = scalar_of<C>;
  using Kind = kind_of<C>;
  const auto o = f.operands();
  std::vector<scalar> out(f.shape.elements());
  for (const unit_range& range : ranges) {
    const std::size_t n = range.size() * Kind::unit_elements(f.shape);
    std::vector<scalar> carry(n);
    std::vector<scalar> local(n);
    std::vector<scalar> result(n);
    Kind::template copy<scalar>(f.shape, range, {f.carry.data(), false}, {carry.data(), true});
    Kind::template copy<scalar>(f.shape, range, {o.state, false}, {local.data(), true});
    const block_view<scalar> to =
        (packed & 4) != 0 ? block_view<scalar>{result.data(), true} : block_view<scalar>{out.data(), false};
    Kind::fold(
        f.c, f.shape, range, o.transition,
        (packed & 1) != 0 ? block_view<const scalar>{carry.data(), true} : block_view<const scalar>{f.carry.data(), false},
        (packed & 2) != 0 ? block_view<const scalar>{local.data(), true} : block_view<const scalar>{o.state, false}, to);
    if (to.packed) Kind::template copy<scalar>(f.shape, range, to, {out.data(), false});
  }
  return out;
}

template <class C>
std::vector<unit_range> blocks_of(const state_shape& shape, std::size_t blocks) {
  std::vector<unit_range> ranges;
  for (std::size_t b = 0; b < blocks; ++b) ranges.push_back(kind_of<C>::block(shape, blocks, b));
  return ranges;
}

/// Ranges between random cuts.
inline std::vector<unit_range> random_ranges(std::size_t units, std::size_t cuts, std::mt19937_64& random) {
  std::vector<std::size_t> at{0, units};
  for (std::size_t i = 0; i < cuts; ++i) at.push_back(random() % (units + 1));
  std::sort(at.begin(), at.end());
  std::vector<unit_range> ranges;
  for (std::size_t i = 0; i + 1 < at.size(); ++i) ranges.push_back({at[i], at[i + 1]});
  return ranges;
}

/// However the units are cut and packed, the bits are those of the whole fold.
template <class C>
void expect_cuts_change_nothing(const state_shape& shape) {
  SCOPED_TRACE(to_string(shape));
  fold_case<C> f{shape};
  const auto whole = f.fold();
  const std::size_t units = kind_of<C>::units(shape);
  for (const std::size_t blocks : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{64}, units + 3}) {
    SCOPED_TRACE("blocks " + std::to_string(blocks));
    for (const unsigned packed : {0U, 7U}) expect_same_bits(fold_ranges(f, blocks_of<C>(shape, blocks), packed), whole);
  }
  std::mt19937_64 random{7};
  for (unsigned packed = 0; packed < 8; ++packed) {
    SCOPED_TRACE("packed " + std::to_string(packed));
    expect_same_bits(fold_ranges(f, random_ranges(units, 6, random), packed), whole);
  }
}

/// `out` may be the carry or the local state.
template <class C>
void expect_folds_in_place(const state_shape& shape) {
  using scalar = scalar_of<C>;
  using Kind = kind_of<C>;
  fold_case<C> f{shape};
  const auto whole = f.fold();
  const auto o = f.operands();
  std::mt19937_64 random{3};
  std::vector<scalar> carry = f.carry;
  std::vector<scalar> local = f.summary.state;
  for (const unit_range& range : random_ranges(Kind::units(shape), 4, random)) {
    Kind::fold(f.c, shape, range, o.transition, {carry.data(), false}, {f.summary.state.data(), false}, {carry.data(), false});
    Kind::fold(f.c, shape, range, o.transition, {f.carry.data(), false}, {local.data(), false}, {local.data(), false});
  }
  expect_same_bits(carry, whole);
  expect_same_bits(local, whole);
}

/// Resets by number and by flag let nothing of a NaN, Inf or any carry through; resets() knows.
template <class C>
void expect_resets_select_the_local_value(const state_shape& shape) {
  using scalar = scalar_of<C>;
  SCOPED_TRACE(to_string(shape));
  std::vector<scalar> carries{scalar{1}};
  if constexpr (std::is_floating_point_v<scalar>) {
    carries.push_back(std::numeric_limits<scalar>::quiet_NaN());
    carries.push_back(std::numeric_limits<scalar>::infinity());
  }
  for (const scalar each : carries) {
    fold_case<C> by_flag{shape};
    by_flag.carry.assign(shape.elements(), each);
    by_flag.summary.reset.assign(shape.batch, 1);
    EXPECT_TRUE(by_flag.resets());
    expect_same_bits(by_flag.fold(), by_flag.summary.state);

    fold_case<C> one_row{shape};
    if (shape.batch > 1 && shape.elements() != 0) {
      one_row.summary.reset[1] = 1;
      one_row.carry.assign(shape.elements(), each);
      const auto out = one_row.fold();
      const auto row = static_cast<std::ptrdiff_t>(shape.elements() / shape.batch);
      expect_same_bits(std::vector<scalar>(out.begin() + row, out.begin() + 2 * row),
                       std::vector<scalar>(one_row.summary.state.begin() + row, one_row.summary.state.begin() + 2 * row));
    }
    if constexpr (!std::is_same_v<kind_of<C>, kind::none>) {
      fold_case<C> by_number{shape};
      by_number.carry.assign(shape.elements(), each);
      const auto reset = detail::law_inputs<C>{by_number.c, law_options<C>{.shape = shape}}.reset();
      if (!reset) continue;
      for (std::size_t i = 0; i < by_number.summary.numbers(); ++i) by_number.summary.put(i, *reset);
      EXPECT_TRUE(by_number.resets());
      expect_same_bits(by_number.fold(), by_number.summary.state);
    }
  }
}

/// copy() to the packed form and back, and fill(), touch a range's units and nothing else.
template <class C>
void expect_copies_units_only(const state_shape& shape) {
  using scalar = scalar_of<C>;
  using Kind = kind_of<C>;
  fold_case<C> f{shape};
  std::mt19937_64 random{11};
  const auto ranges = random_ranges(Kind::units(shape), 5, random);
  std::vector<scalar> copied(shape.elements(), scalar{});
  std::vector<std::size_t> filled(shape.elements(), 0);
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    std::vector<scalar> packed(ranges[r].size() * Kind::unit_elements(shape) + 1, scalar{42});
    Kind::template copy<scalar>(shape, ranges[r], {f.carry.data(), false}, {packed.data(), true});
    EXPECT_EQ(packed.back(), scalar{42}) << "wrote past the packed block";
    Kind::template copy<scalar>(shape, ranges[r], {packed.data(), true}, {copied.data(), false});
    Kind::template fill<std::size_t>(shape, ranges[r], r + 1, {filled.data(), false});
    std::vector<scalar> ones(packed.size(), scalar{42});
    Kind::template fill<scalar>(shape, ranges[r], scalar{1}, {ones.data(), true});
    EXPECT_EQ(ones.back(), scalar{42}) << "filled past the packed block";
    for (std::size_t i = 0; i + 1 < ones.size(); ++i) ASSERT_EQ(ones[i], scalar{1});
  }
  expect_same_bits(copied, f.carry);
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    EXPECT_EQ(static_cast<std::size_t>(std::count(filled.begin(), filled.end(), r + 1)),
              ranges[r].size() * Kind::unit_elements(shape));
  }
}

/// Blocks are in order, touch, and cover the units.
template <class Kind>
void expect_blocks_partition(const state_shape& shape) {
  for (const std::size_t blocks : {std::size_t{1}, std::size_t{2}, std::size_t{5}, std::size_t{64}, std::size_t{1000}}) {
    std::size_t at = 0;
    for (std::size_t b = 0; b < blocks; ++b) {
      const unit_range range = Kind::block(shape, blocks, b);
      ASSERT_EQ(range.begin, at) << to_string(shape) << " block " << b << " of " << blocks;
      ASSERT_GE(range.end, range.begin);
      at = range.end;
    }
    EXPECT_EQ(at, Kind::units(shape));
  }
}

inline const std::vector<state_shape>& shapes() {
  static const std::vector<state_shape> all{{1, 1, 2, 1},  {2, 3, 4, 5}, {1, 2, 6, 60}, {2, 1, 4, 100}, {3, 2, 2, 33},
                                            {1, 1, 8, 32}, {2, 2, 6, 1}, {1, 3, 2, 64}, {2, 2, 10, 7},  {1, 1, 70, 3}};
  return all;
}
inline const std::vector<state_shape>& empty_shapes() {
  static const std::vector<state_shape> all{{0, 2, 4, 5}, {2, 0, 4, 5}, {2, 3, 0, 5}, {2, 3, 4, 0}, {0, 0, 0, 0}};
  return all;
}

/// An empty state folds, copies, fills and packs to nothing, in any number of blocks.
template <class C>
void expect_empty_states_work(const state_shape& shape) {
  using scalar = scalar_of<C>;
  using Kind = kind_of<C>;
  SCOPED_TRACE(to_string(shape));
  fold_case<C> f{shape};
  EXPECT_TRUE(f.fold().empty());
  EXPECT_TRUE(f.resets());
  expect_blocks_partition<Kind>(shape);
  const unit_range nothing = Kind::block(shape, 3, 1);
  EXPECT_FALSE(Kind::packs(shape, nothing));
  EXPECT_TRUE(Kind::transitions_of(shape, nothing).empty());
  scalar guard{42};
  Kind::template copy<scalar>(shape, nothing, {&guard, false}, {&guard, true});
  Kind::template fill<scalar>(shape, nothing, scalar{1}, {&guard, false});
  EXPECT_EQ(guard, scalar{42});
}

}  // namespace allscan::test
