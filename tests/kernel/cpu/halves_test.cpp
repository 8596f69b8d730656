#include <allscan/kernel/cpu/halves.hpp>

#include "kernel/gla_problem.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace allscan::test {
namespace {

template <class Case>
class halves : public ::testing::Test {};
TYPED_TEST_SUITE(halves, kernel_cases);

TYPED_TEST(halves, meet_every_pair_once_with_its_decay) {
  using Gate = typename TypeParam::gate;
  using T = typename TypeParam::scalar;
  constexpr std::size_t key_dim = 3;
  const std::size_t width = kernel::gate_width<Gate>(key_dim);
  const auto wild = [](std::mt19937& random, std::size_t t, std::size_t, std::size_t) {
    return t % 7 == 3 ? -1000.0 : t % 5 == 0 ? 0.0 : std::uniform_real_distribution<double>{-0.1, 0.0}(random);
  };
  for (const std::size_t tokens : {1U, 2U, 3U, 15U, 16U, 17U, 33U, 64U, 100U}) {
    const auto p = random_problem<Gate>({.tokens = tokens, .key_dim = key_dim}, wild).template as<T>();
    cpu::chunk_decay<Gate, T> decay{key_dim, 128};
    decay.assign({p.log_decay.data(), width}, tokens);
    std::vector<int> met(tokens * tokens, 0);
    cpu::halves<Gate, T> half{key_dim, 128};
    half.for_each_block(decay, [&](cpu::half_block block) {
      ASSERT_LT(block.first, block.middle);
      ASSERT_LT(block.middle, block.end);
      ASSERT_LE(block.end, tokens);
      for (std::size_t i = block.middle; i < block.end; ++i) {
        for (std::size_t j = block.first; j < block.middle; ++j) {
          ++met[i * tokens + j];
          for (std::size_t d = 0; d < width; ++d) {
            long double sum = 0;
            for (std::size_t t = j + 1; t <= i; ++t) sum += static_cast<long double>(p.log_decay[t * width + d]);
            const auto expected = static_cast<double>(std::exp(sum));
            EXPECT_LE(half.since(i)[d], T(1));
            EXPECT_LE(half.until(j)[d], T(1));
            const double tolerance =
                (16 - static_cast<double>(sum)) * std::numeric_limits<T>::epsilon();  // as in chunk_decay_test
            EXPECT_NEAR(expected, static_cast<double>(half.since(i)[d] * half.until(j)[d]),
                        tolerance * expected + limits<T>::floor)
                << "tokens " << tokens << ", pair " << i << ", " << j << ", row " << d;
          }
        }
      }
    });
    for (std::size_t i = 0; i < tokens; ++i) {
      for (std::size_t j = 0; j < tokens; ++j) EXPECT_EQ(j < i ? 1 : 0, met[i * tokens + j]) << i << ", " << j;
    }
  }
}

/// Rounding e^-1e-4 errs the same way in every factor of a product.
TYPED_TEST(halves, do_not_let_long_weak_decays_drift) {
  using Gate = typename TypeParam::gate;
  using T = typename TypeParam::scalar;
  constexpr std::size_t tokens = 8192;
  const auto p =
      random_problem<Gate>({.tokens = tokens, .key_dim = 1}, [](auto&, auto, auto, auto) { return -1e-4; }).template as<T>();
  const auto gate = static_cast<double>(p.log_decay[0]);
  cpu::chunk_decay<Gate, T> decay{1, tokens};
  decay.assign({p.log_decay.data(), 1}, tokens);
  cpu::halves<Gate, T> half{1, tokens};
  half.for_each_block(decay, [&](cpu::half_block block) {
    const auto expect = [](double sum, T actual) {
      EXPECT_NEAR(std::exp(sum), static_cast<double>(actual), 16 * std::numeric_limits<T>::epsilon());
    };
    expect(gate * static_cast<double>(block.end - block.middle), half.since(block.end - 1)[0]);
    expect(gate * static_cast<double>(block.middle - block.first - 1), half.until(block.first)[0]);
  });
}

}  // namespace
}  // namespace allscan::test
