#include <allscan/core/shape.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <string>

namespace {

using allscan::even_part;
using allscan::state_shape;
using allscan::token_shape;
using allscan::unit_range;

constexpr std::size_t largest = std::numeric_limits<std::size_t>::max();

/// The parts follow each other without gaps, cover the items, and their sizes differ by at most one, longer ones first.
void expect_partition(std::size_t items, std::size_t parts) {
  SCOPED_TRACE(std::to_string(items) + " items, " + std::to_string(parts) + " parts");
  std::size_t covered = 0;
  for (std::size_t i = 0; i < parts; ++i) {
    const unit_range part = even_part(items, parts, i);
    EXPECT_EQ(part.begin, covered);
    EXPECT_EQ(part.size(), items / parts + (i < items % parts ? 1 : 0));
    covered = part.end;
  }
  EXPECT_EQ(covered, items);
}

TEST(even_part, partitions_the_items) {
  for (const std::size_t items : {0UL, 1UL, 2UL, 7UL, 64UL, 1000UL}) {
    for (const std::size_t parts : {1UL, 2UL, 3UL, 8UL, 63UL, 64UL, 65UL}) expect_partition(items, parts);
  }
}

TEST(even_part, leaves_the_last_parts_empty_where_there_are_more_parts_than_items) {
  EXPECT_EQ(even_part(2, 5, 1), (unit_range{1, 2}));
  for (const std::size_t i : {2UL, 3UL, 4UL}) {
    EXPECT_TRUE(even_part(2, 5, i).empty());
    EXPECT_EQ(even_part(2, 5, i).end, 2U);
  }
}

TEST(even_part, does_not_overflow) {
  for (const std::size_t items : {std::size_t{1} << 31, (std::size_t{1} << 32) + 1, largest / 2, largest - 1, largest}) {
    for (const std::size_t parts : {1UL, 2UL, 3UL, 1000UL}) expect_partition(items, parts);
  }
  EXPECT_EQ(even_part(largest, largest, largest - 1), (unit_range{largest - 1, largest}));
}

TEST(even_part, is_a_constant_expression) { static_assert(even_part(10, 4, 1) == unit_range{3, 6}); }

TEST(state_shape, counts_from_outer_to_inner_dimension) {
  constexpr state_shape shape{.batch = 2, .heads = 3, .key_dim = 5, .value_dim = 7};
  static_assert(shape.matrices() == 6);
  static_assert(shape.rows() == 30);
  static_assert(shape.elements() == 210);
  EXPECT_EQ(to_string(shape), "[2, 3, 5, 7]");
}

TEST(state_shape, defaults_to_one_element) {
  EXPECT_EQ(state_shape{}.elements(), 1U);
  EXPECT_EQ((state_shape{.heads = 4, .key_dim = 8, .value_dim = 8}).batch, 1U);
}

TEST(state_shape, counts_past_32_bits) {
  constexpr state_shape shape{.batch = 64, .heads = 1024, .key_dim = 256, .value_dim = 512};
  static_assert(shape.elements() == std::size_t{1} << 33);
  EXPECT_NO_THROW(validate(shape));
}

TEST(state_shape, refuses_dimensions_whose_product_overflows) {
  EXPECT_THROW(validate(state_shape{.heads = largest}), allscan::invalid_argument);
  EXPECT_THROW(validate(state_shape{.batch = std::size_t{1} << 32, .heads = std::size_t{1} << 32}), allscan::invalid_argument);
  // The state would fit, a dense transition [key_dim, key_dim] would not.
  EXPECT_THROW(validate(state_shape{.key_dim = std::size_t{1} << 32}), allscan::invalid_argument);
  try {
    validate(state_shape{.heads = static_cast<std::size_t>(-4)});
    FAIL() << "a negative dimension was accepted";
  } catch (const allscan::invalid_argument& e) {
    EXPECT_NE(std::string{e.what()}.find("negative number"), std::string::npos) << e.what();
  }
}

TEST(state_shape, allows_dimensions_of_zero) {
  EXPECT_NO_THROW(validate(state_shape{.batch = 0}));
  EXPECT_NO_THROW(validate(state_shape{.key_dim = 0, .value_dim = 8}));
  EXPECT_EQ((state_shape{.heads = 0, .key_dim = 8, .value_dim = 8}).elements(), 0U);
}

TEST(token_shape, counts_its_tensors) {
  constexpr token_shape shape{.batch = 2, .tokens = 11, .heads = 3, .key_dim = 5, .value_dim = 7};
  static_assert(shape.rows() == 66);
  static_assert(shape.key_elements() == 330);
  static_assert(shape.value_elements() == 462);
  EXPECT_EQ(shape.state(), (state_shape{.batch = 2, .heads = 3, .key_dim = 5, .value_dim = 7}));
}

TEST(token_shape, may_hold_no_tokens) {
  constexpr token_shape shape{.heads = 3, .key_dim = 5, .value_dim = 7};
  EXPECT_EQ(shape.key_elements(), 0U);
  EXPECT_EQ(shape.state().elements(), 105U);
}

}  // namespace
