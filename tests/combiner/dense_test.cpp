#include <allscan/combiner/dense.hpp>
#include <support/exact_combiners.hpp>
#include <support/kind_checks.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace allscan::test {
namespace {

template <class C>
class dense : public testing::Test {};

/// The longest path of decayed edges: max takes the place of +, so a wrong order or start of a sum shows.
struct max_plus {
  using scalar = double;
  using kind = allscan::kind::dense;
  static constexpr unit_form unit = unit_form::column;
  static double apply(double a, double carry, double best) { return std::max(best, a + carry); }
  static double identity() { return -std::numeric_limits<double>::infinity(); }
};

using combiners = testing::Types<exact_dense, adjoint<exact_dense>, adjoint<adjoint<exact_dense>>, dense_transition<float>,
                                 dense_transition<double>, adjoint<dense_transition<float>>, adjoint<dense_transition<double>>>;
TYPED_TEST_SUITE(dense, combiners);

/// Also past the panels and tiles that a product is packed in.
const std::vector<state_shape> large_shapes{{1, 1, 70, 130}, {1, 1, 129, 5}, {1, 2, 17, 33}};

TYPED_TEST(dense, folds_as_the_formula) {
  for (const state_shape& shape : shapes()) expect_folds_as_the_formula<TypeParam>(shape);
  for (const state_shape& shape : large_shapes) expect_folds_as_the_formula<TypeParam>(shape);
}

TYPED_TEST(dense, cuts_and_packing_change_no_bit) {
  for (const state_shape& shape : shapes()) expect_cuts_change_nothing<TypeParam>(shape);
  for (const state_shape& shape : large_shapes) expect_cuts_change_nothing<TypeParam>(shape);
}

TYPED_TEST(dense, resets_select_the_local_value) {
  for (const state_shape& shape : shapes()) expect_resets_select_the_local_value<TypeParam>(shape);
}

TYPED_TEST(dense, copies_touch_their_units_only) {
  for (const state_shape& shape : shapes()) expect_copies_units_only<TypeParam>(shape);
}

TYPED_TEST(dense, empty_states_work) {
  for (const state_shape& shape : empty_shapes()) expect_empty_states_work<TypeParam>(shape);
}

TYPED_TEST(dense, a_nan_matrix_behind_a_reset_is_not_read) {
  fold_case<TypeParam> f{{2, 1, 3, 4}};
  f.summary.reset = {1, 1};
  if constexpr (std::is_floating_point_v<scalar_of<TypeParam>>) {
    std::fill_n(f.summary.transition.get(), f.summary.entries(f.shape), std::numeric_limits<scalar_of<TypeParam>>::quiet_NaN());
  }
  expect_same_bits(f.fold(), f.summary.state);
}

TEST(dense_indices, units_are_columns) {
  const state_shape s{2, 3, 4, 5};
  EXPECT_EQ(kind::dense::units(s), 30U);
  EXPECT_EQ(kind::dense::unit_elements(s), 4U);
  EXPECT_EQ(kind::dense::transitions(s), 6U);
  EXPECT_EQ(kind::dense::transitions_of(s, {4, 6}), (unit_range{0, 2}));
  EXPECT_EQ(kind::dense::transitions_of(s, {5, 10}), (unit_range{1, 2}));
  EXPECT_TRUE(kind::dense::transitions_of(s, {5, 5}).empty());
  for (const state_shape& shape : shapes()) expect_blocks_partition<kind::dense>(shape);
}

TEST(dense_indices, few_blocks_are_cut_at_heads) {
  const state_shape s{1, 5, 4, 7};
  for (std::size_t blocks = 1; blocks <= 5; ++blocks) {
    for (std::size_t b = 0; b < blocks; ++b) EXPECT_FALSE(kind::dense::packs(s, kind::dense::block(s, blocks, b)));
  }
  EXPECT_TRUE(kind::dense::packs(s, kind::dense::block(s, 6, 0)));
}

TEST(dense_indices, packed_rows_follow_each_other_head_by_head) {
  const state_shape s{1, 2, 2, 3};
  std::vector<std::uint32_t> tensor{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::vector<std::uint32_t> packed(6);
  kind::dense::copy<std::uint32_t>(s, {2, 5}, {tensor.data(), false}, {packed.data(), true});
  EXPECT_EQ(packed, (std::vector<std::uint32_t>{2, 5, 6, 7, 9, 10}));
}

TEST(dense_indices, count_past_32_bits) {
  const state_shape s{1U << 12, 1U << 12, 64, 1U << 9};
  EXPECT_EQ(kind::dense::units(s), std::size_t{1} << 33);
  expect_blocks_partition<kind::dense>(s);
  const unit_range last{kind::dense::units(s) - 1, kind::dense::units(s)};
  EXPECT_EQ(kind::dense::transitions_of(s, last), (unit_range{(1U << 24) - 1, 1U << 24}));
  EXPECT_TRUE(kind::dense::packs(s, last));
}

TEST(dense_decay, is_optional_and_scales_the_matrix) {
  fold_case<dense_transition<double>> f{{1, 2, 3, 4}};
  f.summary.log_decay = {0, 0};
  const auto expected = f.fold();
  auto o = f.operands();
  o.transition.log_decay = nullptr;
  std::vector<double> out(expected.size());
  kind::dense::fold(f.c, f.shape, {0, 8}, o.transition, {f.carry.data(), false}, {o.state, false}, {out.data(), false});
  expect_same_bits(out, expected);
}

TEST(dense_decay, an_exponential_that_underflows_is_no_reset) {
  fold_case<dense_transition<float>> f{{1, 1, 3, 4}};
  f.summary.log_decay = {-1000.0F};
  f.carry.assign(f.carry.size(), std::numeric_limits<float>::infinity());
  EXPECT_FALSE(f.resets());
  for (const float x : f.fold()) EXPECT_TRUE(std::isnan(x));
}

TEST(custom_dense, sums_start_at_the_local_value_and_products_at_the_identity) {
  fold_case<max_plus> f{{1, 2, 9, 20}};
  const auto out = f.fold();
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t i = 0; i < 9; ++i) {
      for (std::size_t v = 0; v < 20; ++v) {
        const std::size_t at = (head * 9 + i) * 20 + v;
        double best = f.summary.state[at];
        for (std::size_t j = 0; j < 9; ++j) {
          best = std::max(best, f.summary.transition.get()[(head * 9 + i) * 9 + j] + f.carry[(head * 9 + j) * 20 + v]);
        }
        ASSERT_EQ(out[at], best) << at;
      }
    }
  }
  expect_cuts_change_nothing<max_plus>({1, 2, 9, 20});
}

}  // namespace
}  // namespace allscan::test
