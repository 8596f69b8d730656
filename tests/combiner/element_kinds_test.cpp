#include <allscan/combiner/element_kinds.hpp>
#include <support/exact_combiners.hpp>
#include <support/kind_checks.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

namespace allscan::test {
namespace {

template <class C>
class element_kinds : public testing::Test {};

using combiners =
    testing::Types<exact_accumulate, exact_affine<kind::scalar>, exact_affine<kind::diagonal>, exact_affine<kind::elementwise>,
                   adjoint<exact_affine<kind::diagonal>>, accumulate<float>, accumulate<double>, decay<kind::scalar, float>,
                   decay<kind::diagonal, float>, decay<kind::elementwise, float>, decay<kind::scalar, double>,
                   decay<kind::diagonal, double>, decay<kind::elementwise, double>, adjoint<decay<kind::diagonal, float>>>;
TYPED_TEST_SUITE(element_kinds, combiners);

TYPED_TEST(element_kinds, fold_as_the_formula) {
  for (const state_shape& shape : shapes()) expect_folds_as_the_formula<TypeParam>(shape);
}

TYPED_TEST(element_kinds, cuts_and_packing_change_no_bit) {
  for (const state_shape& shape : shapes()) expect_cuts_change_nothing<TypeParam>(shape);
}

TYPED_TEST(element_kinds, fold_in_place) {
  for (const state_shape& shape : shapes()) expect_folds_in_place<TypeParam>(shape);
}

TYPED_TEST(element_kinds, resets_select_the_local_value) {
  for (const state_shape& shape : shapes()) expect_resets_select_the_local_value<TypeParam>(shape);
}

TYPED_TEST(element_kinds, copies_touch_their_units_only) {
  for (const state_shape& shape : shapes()) expect_copies_units_only<TypeParam>(shape);
}

TYPED_TEST(element_kinds, blocks_partition_the_units) {
  for (const state_shape& shape : shapes()) expect_blocks_partition<kind_of<TypeParam>>(shape);
}

TYPED_TEST(element_kinds, empty_states_work) {
  for (const state_shape& shape : empty_shapes()) expect_empty_states_work<TypeParam>(shape);
}

TYPED_TEST(element_kinds, a_range_that_does_not_reset_throughout_is_no_reset) {
  fold_case<TypeParam> f{{2, 3, 4, 5}};
  f.summary.reset = {0, 1};
  if constexpr (!std::is_same_v<kind_of<TypeParam>, kind::none>) {
    for (std::size_t i = 0; i < f.summary.numbers(); ++i)
      f.summary.put(i, std::is_integral_v<scalar_of<TypeParam>> ? transition_of<TypeParam>(3) : transition_of<TypeParam>(-1));
  }
  EXPECT_FALSE(f.resets());
}

TEST(element_kind_indices, units_are_elements) {
  const state_shape s{2, 3, 4, 5};
  EXPECT_EQ(kind::diagonal::units(s), 120U);
  EXPECT_EQ(kind::diagonal::unit_elements(s), 1U);
  EXPECT_FALSE(kind::diagonal::packs(s, {3, 17}));
}

TEST(element_kind_indices, transitions_are_those_that_a_range_touches) {
  const state_shape s{2, 3, 4, 5};
  EXPECT_EQ(kind::none::transitions(s), 0U);
  EXPECT_EQ(kind::scalar::transitions(s), 6U);
  EXPECT_EQ(kind::diagonal::transitions(s), 24U);
  EXPECT_EQ(kind::elementwise::transitions(s), 120U);
  EXPECT_EQ(kind::none::transitions_of(s, {3, 27}), (unit_range{0, 0}));
  EXPECT_EQ(kind::scalar::transitions_of(s, {19, 41}), (unit_range{0, 3}));
  EXPECT_EQ(kind::scalar::transitions_of(s, {20, 40}), (unit_range{1, 2}));
  EXPECT_EQ(kind::diagonal::transitions_of(s, {4, 6}), (unit_range{0, 2}));
  EXPECT_EQ(kind::elementwise::transitions_of(s, {4, 6}), (unit_range{4, 6}));
  EXPECT_TRUE(kind::diagonal::transitions_of(s, {6, 6}).empty());
}

TEST(element_kind_indices, count_past_32_bits) {
  const state_shape s{1U << 10, 1U << 10, 1U << 10, 1U << 10};
  const std::size_t units = std::size_t{1} << 40;
  EXPECT_EQ(kind::diagonal::units(s), units);
  expect_blocks_partition<kind::diagonal>(s);
  const unit_range last{units - 1, units};
  EXPECT_EQ(kind::scalar::transitions_of(s, last), (unit_range{(1U << 20) - 1, 1U << 20}));
  EXPECT_EQ(kind::diagonal::transitions_of(s, last), (unit_range{(1U << 30) - 1, 1U << 30}));
  EXPECT_EQ(kind::elementwise::transitions_of(s, last), last);
  EXPECT_EQ(kind::elementwise::block(s, 3, 2).end, units);
}

TEST(decays, an_exponential_that_underflows_is_no_reset) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto check = [&]<class Kind>(Kind) {
    for (const std::size_t value_dim : {std::size_t{1}, std::size_t{64}}) {
      fold_case<decay<Kind, float>> f{{1, 2, 3, value_dim}};
      f.summary.log_decay.assign(f.summary.log_decay.size(), -1000.0F);
      f.carry.assign(f.carry.size(), inf);
      EXPECT_FALSE(f.resets());
      for (const float x : f.fold()) ASSERT_TRUE(std::isnan(x));
      f.carry.assign(f.carry.size(), 1.0F);
      expect_same_bits(f.fold(), f.summary.state);
    }
  };
  check(kind::scalar{});
  check(kind::diagonal{});
  check(kind::elementwise{});
}

TEST(decays, non_finite_carries_pass_as_ieee_says) {
  fold_case<decay<kind::diagonal, double>> f{{1, 1, 2, 40}};
  f.summary.log_decay = {-0.5, 0.0};
  f.carry[3] = std::numeric_limits<double>::quiet_NaN();
  f.carry[41] = -std::numeric_limits<double>::infinity();
  const auto out = f.fold();
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i == 3) {
      EXPECT_TRUE(std::isnan(out[i]));
    } else if (i == 41) {
      EXPECT_EQ(out[i], -std::numeric_limits<double>::infinity());
    } else {
      EXPECT_TRUE(std::isfinite(out[i])) << i;
    }
  }
}

TEST(decays, one_reset_row_among_others) {
  for (const std::size_t value_dim : {std::size_t{1}, std::size_t{7}, std::size_t{64}}) {
    fold_case<decay<kind::diagonal, float>> f{{1, 1, 50, value_dim}};
    f.summary.log_decay.assign(50, -0.25F);
    const auto before = f.fold();
    f.summary.log_decay[13] = -std::numeric_limits<float>::infinity();
    const auto after = f.fold();
    for (std::size_t i = 0; i < after.size(); ++i) {
      ASSERT_EQ(after[i], i / value_dim == 13 ? f.summary.state[i] : before[i]) << i;
    }
  }
}

}  // namespace
}  // namespace allscan::test
