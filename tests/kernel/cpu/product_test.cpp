#include <allscan/kernel/cpu/product.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace allscan::test {
namespace {

template <class T>
class products : public ::testing::Test {
 protected:
  std::vector<T> integers(std::size_t n) {  // sums of their products are exact
    std::uniform_int_distribution<int> draw{-8, 8};
    std::vector<T> x(n);
    for (T& value : x) value = static_cast<T>(draw(random_));
    return x;
  }

 private:
  std::mt19937 random_{1};
};
using scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(products, scalars);

constexpr std::size_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 19, 33};

TYPED_TEST(products, of_any_shape_are_exact_on_integers) {
  for (const std::size_t m : sizes) {
    for (const std::size_t n : sizes) {
      for (const std::size_t depth : sizes) {
        const std::size_t c_row = n + 3;
        const auto a = this->integers(m * depth);
        const auto b = this->integers(n * depth);
        const auto start = this->integers(m * c_row);
        auto expected = start;
        for (std::size_t i = 0; i < m; ++i) {
          for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t p = 0; p < depth; ++p) expected[i * c_row + j] += a[i * depth + p] * b[p * n + j];
          }
        }
        auto c = start;
        cpu::multiply_add<TypeParam>(m, n, depth, {a.data(), depth}, b.data(), n, c.data(), c_row);
        EXPECT_EQ(expected, c) << m << " x " << n << ", depth " << depth;

        std::vector<TypeParam> transposed(a.size());
        for (std::size_t i = 0; i < m; ++i) {
          for (std::size_t p = 0; p < depth; ++p) transposed[p * m + i] = a[i * depth + p];
        }
        c = start;
        cpu::multiply_add<TypeParam>(m, n, depth, {transposed.data(), 1, m}, b.data(), n, c.data(), c_row);
        EXPECT_EQ(expected, c) << "a transposed, " << m << " x " << n << ", depth " << depth;

        std::vector<TypeParam> b_transposed(b.size());
        for (std::size_t j = 0; j < n; ++j) {
          for (std::size_t p = 0; p < depth; ++p) b_transposed[j * depth + p] = b[p * n + j];
        }
        c = start;
        cpu::multiply_add_transposed<TypeParam>(m, n, depth, a.data(), depth, b_transposed.data(), depth, c.data(), c_row);
        EXPECT_EQ(expected, c) << "b transposed, " << m << " x " << n << ", depth " << depth;
      }
    }
  }
}

TYPED_TEST(products, give_a_row_the_same_bits_whatever_the_other_rows_hold) {
  constexpr std::size_t m = 11;
  constexpr std::size_t n = 21;
  constexpr std::size_t depth = 13;
  std::mt19937 random{2};
  std::normal_distribution<TypeParam> normal;
  const auto fill = [&](std::size_t size) {
    std::vector<TypeParam> x(size);
    for (TypeParam& value : x) value = normal(random);
    return x;
  };
  const auto a = fill(m * depth);
  const auto b = fill(depth * n);
  const auto b_transposed = fill(n * depth);
  for (std::size_t row = 0; row < m; ++row) {
    std::vector<TypeParam> others(m * depth, std::numeric_limits<TypeParam>::quiet_NaN());
    std::memcpy(others.data() + row * depth, a.data() + row * depth, depth * sizeof(TypeParam));
    std::vector<TypeParam> expected(m * n);
    std::vector<TypeParam> actual(m * n);
    cpu::multiply_add<TypeParam>(m, n, depth, {a.data(), depth}, b.data(), n, expected.data(), n);
    cpu::multiply_add<TypeParam>(m, n, depth, {others.data(), depth}, b.data(), n, actual.data(), n);
    EXPECT_EQ(0, std::memcmp(expected.data() + row * n, actual.data() + row * n, n * sizeof(TypeParam))) << row;
    cpu::multiply_add_transposed<TypeParam>(m, n, depth, a.data(), depth, b_transposed.data(), depth, expected.data(), n);
    cpu::multiply_add_transposed<TypeParam>(m, n, depth, others.data(), depth, b_transposed.data(), depth, actual.data(), n);
    EXPECT_EQ(0, std::memcmp(expected.data() + row * n, actual.data() + row * n, n * sizeof(TypeParam))) << row;
  }
}

}  // namespace
}  // namespace allscan::test
