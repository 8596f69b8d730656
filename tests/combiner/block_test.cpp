#include <allscan/combiner/block.hpp>
#include <allscan/combiner/decay.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace allscan::test {
namespace {

TEST(block_view, packed_begins_with_the_range_and_a_tensor_does_not) {
  int data[10] = {};
  const unit_range range{2, 4};
  EXPECT_EQ((block_view<int>{data, true}.at(range, 3)), data);
  EXPECT_EQ((block_view<int>{data, false}.at(range, 3)), data + 6);
  const block_view<const int> read = block_view<int>{data, true};
  EXPECT_EQ(read.data, data);
  EXPECT_TRUE(read.packed);
}

TEST(in_turns, cover_every_element_and_take_a_ragged_end_first) {
  for (std::size_t n = 4; n < 14; ++n) {
    std::vector<int> seen(n, 0);
    std::size_t turns = 0;
    detail::in_turns(n, 4, [&](std::size_t i, bool last) {
      EXPECT_EQ(last, turns == 0 && n % 4 != 0);
      EXPECT_LE(i + 4, n);
      for (std::size_t l = 0; l < 4; ++l) ++seen[i + l];
      ++turns;
    });
    EXPECT_EQ(turns, (n + 3) / 4);
    for (const int s : seen) EXPECT_GE(s, 1);
  }
}

TEST(pad, repeats_the_last_element) {
  const int row[] = {1, 2, 3};
  int to[5] = {};
  detail::pad(row, 3, to, 5);
  EXPECT_EQ((std::vector<int>(to, to + 5)), (std::vector<int>{1, 2, 3, 3, 3}));
}

/// Every length and offset, in place and not; memory beyond the row stays as it is.
TEST(fold_row, folds_rows_of_any_length) {
  const decay<kind::diagonal, float> c;
  for (std::size_t n = 0; n <= 3 * detail::fold_width<float> + 1; ++n) {
    std::vector<float> carry(n + 1, -7.0F);
    std::vector<float> local(n + 1, -7.0F);
    std::vector<float> out(n + 1, -7.0F);
    for (std::size_t i = 0; i < n; ++i) {
      carry[i] = static_cast<float>(i) + 1;
      local[i] = static_cast<float>(3 * i);
    }
    if (n != 0) detail::fold_row(c, 0.5F, carry.data(), local.data(), out.data(), n);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(out[i], 0.5F * carry[i] + local[i]) << i << " of " << n;
    ASSERT_EQ(out[n], -7.0F);
    std::vector<float> in_place = carry;
    if (n != 0) detail::fold_row(c, 0.5F, in_place.data(), local.data(), in_place.data(), n);
    ASSERT_EQ(std::vector<float>(in_place.begin(), in_place.end() - 1), std::vector<float>(out.begin(), out.end() - 1));
    ASSERT_EQ(in_place[n], -7.0F);
  }
}

TEST(fold_row_pair, folds_pairs_of_any_length) {
  const rotary<double> c;
  const pair<double> turn{0.6, 0.8};
  for (std::size_t n = 1; n <= 3 * detail::fold_width<double> + 1; ++n) {
    std::vector<double> carry(2 * n);
    std::vector<double> local(2 * n);
    for (std::size_t i = 0; i < 2 * n; ++i) {
      carry[i] = static_cast<double>(i) + 1;
      local[i] = static_cast<double>(i % 5);
    }
    std::vector<double> out(2 * n + 1, -7.0);
    detail::fold_row_pair(c, turn, carry.data(), local.data(), out.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      const double tolerance = 1e-13 * static_cast<double>(n);
      ASSERT_NEAR(out[i], 0.6 * carry[i] - 0.8 * carry[n + i] + local[i], tolerance);
      ASSERT_NEAR(out[n + i], 0.8 * carry[i] + 0.6 * carry[n + i] + local[n + i], tolerance);
    }
    ASSERT_EQ(out[2 * n], -7.0);
    detail::fold_row_pair(c, turn, carry.data(), local.data(), carry.data(), n);
    ASSERT_EQ(carry, std::vector<double>(out.begin(), out.end() - 1));
  }
}

TEST(touched, rounds_outwards) {
  EXPECT_EQ(detail::touched({4, 9}, 4), (unit_range{1, 3}));
  EXPECT_EQ(detail::touched({4, 8}, 4), (unit_range{1, 2}));
  EXPECT_EQ(detail::touched({4, 4}, 4), (unit_range{0, 0}));
  EXPECT_EQ(detail::touched({0, 0}, 0), (unit_range{0, 0}));
}

}  // namespace
}  // namespace allscan::test
