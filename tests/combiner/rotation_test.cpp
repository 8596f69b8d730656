#include <allscan/combiner/rotation.hpp>
#include <support/exact_combiners.hpp>
#include <support/kind_checks.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace allscan::test {
namespace {

template <class C>
class rotation : public testing::Test {};

using combiners = testing::Types<exact_rotation, adjoint<exact_rotation>, rotary<float>, rotary<double>, adjoint<rotary<float>>,
                                 adjoint<adjoint<rotary<double>>>>;
TYPED_TEST_SUITE(rotation, combiners);

TYPED_TEST(rotation, folds_as_the_formula) {
  for (const state_shape& shape : shapes()) expect_folds_as_the_formula<TypeParam>(shape);
}

TYPED_TEST(rotation, cuts_and_packing_change_no_bit) {
  for (const state_shape& shape : shapes()) expect_cuts_change_nothing<TypeParam>(shape);
}

TYPED_TEST(rotation, folds_in_place) {
  for (const state_shape& shape : shapes()) expect_folds_in_place<TypeParam>(shape);
}

TYPED_TEST(rotation, resets_select_the_local_value) {
  for (const state_shape& shape : shapes()) expect_resets_select_the_local_value<TypeParam>(shape);
}

TYPED_TEST(rotation, copies_touch_their_units_only) {
  for (const state_shape& shape : shapes()) expect_copies_units_only<TypeParam>(shape);
}

TYPED_TEST(rotation, empty_states_work) {
  for (const state_shape& shape : empty_shapes()) expect_empty_states_work<TypeParam>(shape);
}

TEST(rotation_indices, units_are_row_pairs) {
  const state_shape s{2, 3, 4, 5};
  EXPECT_EQ(kind::rotation::units(s), 12U);
  EXPECT_EQ(kind::rotation::unit_elements(s), 10U);
  EXPECT_EQ(kind::rotation::transitions(s), 12U);
  EXPECT_EQ(kind::rotation::transitions_of(s, {3, 7}), (unit_range{3, 7}));
  EXPECT_TRUE(kind::rotation::transitions_of(s, {7, 7}).empty());
  EXPECT_FALSE(kind::rotation::packs(s, {3, 7}));
  for (const state_shape& shape : shapes()) expect_blocks_partition<kind::rotation>(shape);
}

TEST(rotation_indices, count_past_32_bits) {
  const state_shape s{1U << 10, 1U << 10, 1U << 14, 4};
  EXPECT_EQ(kind::rotation::units(s), std::size_t{1} << 33);
  expect_blocks_partition<kind::rotation>(s);
}

TEST(rotation_shape, an_odd_key_dim_is_refused) {
  EXPECT_THROW(kind::rotation::validate({1, 2, 5, 8}), invalid_argument);
  EXPECT_NO_THROW(kind::rotation::validate({1, 2, 6, 8}));
  EXPECT_NO_THROW(kind::rotation::validate({1, 2, 0, 8}));
}

TEST(rotary, an_exponential_that_underflows_is_no_reset) {
  fold_case<allscan::rotary<float>> f{{1, 2, 4, 3}};
  f.summary.log_decay.assign(f.summary.log_decay.size(), -1000.0F);
  f.carry.assign(f.carry.size(), std::numeric_limits<float>::infinity());
  EXPECT_FALSE(f.resets());
  for (const float x : f.fold()) EXPECT_TRUE(std::isnan(x));
}

TEST(rotary, a_reset_needs_no_finite_angle) {
  fold_case<allscan::rotary<float>> f{{1, 1, 2, 3}};
  f.summary.log_decay = {-std::numeric_limits<float>::infinity()};
  f.summary.angle = {std::numeric_limits<float>::quiet_NaN()};
  expect_same_bits(f.fold(), f.summary.state);
}

}  // namespace
}  // namespace allscan::test
