#include <allscan/kernel/cpu/chunk_decay.hpp>

#include "kernel/gla_problem.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace allscan::test {
namespace {

template <class Case>
class chunk_decay : public ::testing::Test {};
TYPED_TEST_SUITE(chunk_decay, kernel_cases);

/// Every factor against the sum of its gates in long double. A rounded sum costs |sum| half units, the products of a tile 16.
TYPED_TEST(chunk_decay, decays_rows_by_the_gates_before_or_after_them) {
  using Gate = typename TypeParam::gate;
  using T = typename TypeParam::scalar;
  constexpr std::size_t key_dim = 3;
  const std::size_t width = kernel::gate_width<Gate>(key_dim);
  for (const double strongest : {0.0, -1e-4, -0.1, -20.0, -1000.0}) {
    const auto gate = [strongest](std::mt19937& random, std::size_t, std::size_t, std::size_t) {
      return strongest * std::uniform_real_distribution<double>{0.0, 1.0}(random);
    };
    for (const std::size_t tokens : {1U, 15U, 16U, 17U, 64U, 1000U}) {
      const auto p = random_problem<Gate>({.tokens = tokens, .key_dim = key_dim, .value_dim = 2}, gate).template as<T>();
      cpu::chunk_decay<Gate, T> decay{key_dim, 1000};
      decay.assign({p.log_decay.data(), width}, tokens);
      std::vector<T> since(tokens * key_dim);
      std::vector<T> until(tokens * key_dim);
      decay.since_start({p.q.data(), key_dim}, T(0.5), since.data());
      decay.until_end({p.k.data(), key_dim}, until.data());
      std::vector<T> state = p.initial;
      decay.decay_state(2, state.data());
      std::vector<double> total(width);
      decay.add_all(total.data());

      for (std::size_t d = 0; d < key_dim; ++d) {
        const auto gate_at = [&](std::size_t t) { return static_cast<long double>(p.log_decay[t * width + d % width]); };
        const auto expect = [&](T from, long double sum, T actual) {
          const auto expected = static_cast<double>(static_cast<long double>(from) * std::exp(sum));
          const double tolerance = (16 - static_cast<double>(sum)) * std::numeric_limits<T>::epsilon();
          EXPECT_NEAR(expected, static_cast<double>(actual), tolerance * std::abs(expected) + limits<T>::floor)
              << "gates to " << strongest << ", tokens " << tokens << ", row " << d;
        };
        long double before = 0;
        for (std::size_t t = 0; t < tokens; ++t) {
          before += gate_at(t);
          expect(T(0.5) * p.q[t * key_dim + d], before, since[t * key_dim + d]);
        }
        long double after = 0;
        for (std::size_t t = tokens; t-- > 0;) {
          expect(p.k[t * key_dim + d], after, until[t * key_dim + d]);
          after += gate_at(t);
        }
        expect(p.initial[2 * d], before, state[2 * d]);
        expect(p.initial[2 * d + 1], before, state[2 * d + 1]);
        EXPECT_NEAR(static_cast<double>(before), total[d % width], 1e-13 * std::abs(static_cast<double>(before)));
      }
    }
  }
}

TYPED_TEST(chunk_decay, of_minus_infinity_leaves_nothing) {
  using Gate = typename TypeParam::gate;
  using T = typename TypeParam::scalar;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const std::vector<T> gates(17, -infinity);
  const std::vector<T> ones(17, T(1));
  cpu::chunk_decay<Gate, T> decay{1, 17};
  decay.assign({gates.data(), 1}, 17);
  std::vector<T> rows(17);
  decay.since_start({ones.data(), 1}, T(1), rows.data());
  EXPECT_EQ(std::vector<T>(17, T(0)), rows);
  decay.until_end({ones.data(), 1}, rows.data());
  std::vector<T> last(17, T(0));
  last.back() = T(1);
  EXPECT_EQ(last, rows);
  T state = T(3);
  decay.decay_state(1, &state);
  EXPECT_EQ(T(0), state);
}

}  // namespace
}  // namespace allscan::test
