/// What is promised to the bit: causality, and independence of the number of threads.

#include "kernel/gla_problem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace allscan::test {
namespace {

template <class Case>
class kernel_bits : public ::testing::Test {};
TYPED_TEST_SUITE(kernel_bits, kernel_cases);

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TYPED_TEST(kernel_bits, is_equal_to_the_bit_on_any_number_of_threads) {
#ifdef _OPENMP
  using Gate = typename TypeParam::gate;
  const auto p = random_problem<Gate>({.batch = 2, .tokens = 100, .heads = 3, .key_dim = 12, .value_dim = 20}, mild_gate)
                     .template as<typename TypeParam::scalar>();
  const int threads_before = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto expected = chunked<Gate>(p, 16);
  for (const int threads : {2, 3, 5}) {
    omp_set_num_threads(threads);
    const auto actual = chunked<Gate>(p, 16);
    EXPECT_TRUE(same_bits(expected.o, actual.o)) << threads;
    EXPECT_TRUE(same_bits(expected.final, actual.final)) << threads;
    EXPECT_TRUE(same_bits(expected.dq, actual.dq)) << threads;
    EXPECT_TRUE(same_bits(expected.dk, actual.dk)) << threads;
    EXPECT_TRUE(same_bits(expected.dv, actual.dv)) << threads;
    EXPECT_TRUE(same_bits(expected.dlog_decay, actual.dlog_decay)) << threads;
    EXPECT_TRUE(same_bits(expected.d_initial, actual.d_initial)) << threads;
  }
  omp_set_num_threads(threads_before);
#else
  GTEST_SKIP() << "compiled without OpenMP";
#endif
}

/// What later tokens may hold where nothing of them may show. NaN and infinities only in values: a later query's or key's
/// would make its own pairs' gradients NaN, and those are sums over earlier tokens too.
enum class noise { large, huge, not_a_number, infinite };

template <class T>
void disturb(gla_problem<T>& p, std::size_t from, noise kind, bool values_only) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const auto change = [&](std::vector<T>& x, bool gate, bool value) {
    const std::size_t width = x.size() / p.shape.tokens;
    for (std::size_t i = from * width; i < x.size(); ++i) {
      if (gate) {
        x[i] = kind == noise::large ? T(-1000) : kind == noise::huge ? T(0) : T(-0.5);
      } else if (values_only && !value) {
        x[i] *= T(50);
      } else {
        x[i] = kind == noise::large      ? x[i] * T(50)
               : kind == noise::huge     ? T(1e30)
               : kind == noise::infinite ? infinity
                                         : gla_result<T>::nan;
      }
    }
  };
  change(p.q, false, false);
  change(p.k, false, false);
  change(p.v, false, true);
  change(p.log_decay, true, false);
}

constexpr std::size_t positions[] = {0,  1,  2,  3,  4,  5,  7,  8,   9,   15,  16,  17, 31,
                                     32, 33, 48, 63, 64, 65, 96, 100, 127, 128, 129, 139};
constexpr noise noises[] = {noise::large, noise::huge, noise::not_a_number, noise::infinite};

TYPED_TEST(kernel_bits, outputs_do_not_change_by_a_bit_with_later_tokens) {
  using Gate = typename TypeParam::gate;
  using T = typename TypeParam::scalar;
  const auto p =
      random_problem<Gate>({.batch = 1, .tokens = 140, .heads = 2, .key_dim = 9, .value_dim = 13}, mild_gate).template as<T>();
  for (const std::size_t chunk : {1U, 4U, 16U, 64U, 140U}) {
    const auto expected = chunked<Gate>(p, chunk);
    for (const std::size_t from : positions) {
      for (const noise kind : noises) {
        auto disturbed = p;
        disturb(disturbed, from, kind, false);
        const auto actual = chunked<Gate>(disturbed, chunk);
        const std::size_t elements = from * p.shape.heads * p.shape.value_dim;
        EXPECT_EQ(0, std::memcmp(expected.o.data(), actual.o.data(), elements * sizeof(T)))
            << "chunk " << chunk << ", token " << from << ", noise " << static_cast<int>(kind);
      }
    }
  }
}

TYPED_TEST(kernel_bits, gradients_of_a_loss_on_a_prefix_do_not_change_by_a_bit_with_later_tokens) {
  using Gate = typename TypeParam::gate;
  using T = typename TypeParam::scalar;
  auto p =
      random_problem<Gate>({.batch = 1, .tokens = 140, .heads = 2, .key_dim = 9, .value_dim = 13}, mild_gate).template as<T>();
  std::fill(p.d_final.begin(), p.d_final.end(), T(0));
  for (const std::size_t chunk : {1U, 4U, 16U, 64U, 140U}) {
    for (const std::size_t from : positions) {
      auto prefix = p;
      const std::size_t d_o_width = p.shape.heads * p.shape.value_dim;
      std::fill(prefix.d_o.begin() + static_cast<std::ptrdiff_t>(from * d_o_width), prefix.d_o.end(), T(0));
      const auto expected = chunked<Gate>(prefix, chunk);
      for (const noise kind : noises) {
        auto disturbed = prefix;
        disturb(disturbed, from, kind, true);
        const auto actual = chunked<Gate>(disturbed, chunk);
        const auto same = [&](const std::vector<T>& a, const std::vector<T>& b) {
          return std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(from * (a.size() / p.shape.tokens)), b.begin());
        };
        const std::string where = "chunk " + std::to_string(chunk) + ", token " + std::to_string(from) + ", noise " +
                                  std::to_string(static_cast<int>(kind));
        EXPECT_TRUE(same(expected.dq, actual.dq)) << where;
        EXPECT_TRUE(same(expected.dk, actual.dk)) << where;
        EXPECT_TRUE(same(expected.dv, actual.dv)) << where;
        EXPECT_TRUE(same(expected.dlog_decay, actual.dlog_decay)) << where;
        EXPECT_EQ(expected.d_initial, actual.d_initial) << where;
      }
    }
  }
}

}  // namespace
}  // namespace allscan::test
