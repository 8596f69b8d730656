#include <allscan/kernel/cpu/carry.hpp>

#include "kernel/gla_problem.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace allscan::test {
namespace {

template <class Case>
class carry : public ::testing::Test {};
TYPED_TEST_SUITE(carry, kernel_cases);

constexpr token_shape shape{.batch = 2, .tokens = 37, .heads = 3, .key_dim = 6, .value_dim = 5};

TYPED_TEST(carry, that_is_null_is_zero) {
  using Gate = typename TypeParam::gate;
  using T = typename TypeParam::scalar;
  const auto p = random_problem<Gate>(shape, mild_gate).template as<T>();
  const std::vector<T> zero(p.initial.size(), T(0));
  gla_result<T> expected{p};
  gla_result<T> actual{p};
  cpu::intra_chunk<Gate>(shape, 8, p.tokens(), expected.o.data());
  cpu::add_carry<Gate>(shape, 8, p.tokens(), zero.data(), expected.o.data());
  cpu::intra_chunk<Gate>(shape, 8, p.tokens(), actual.o.data());
  cpu::add_carry<Gate>(shape, 8, p.tokens(), nullptr, actual.o.data());
  EXPECT_EQ(expected.o, actual.o);

  cpu::intra_chunk_backward<Gate>(shape, 8, p.tokens(), p.d_o.data(), expected.gradients());
  cpu::add_carry_backward<Gate>(shape, 8, p.tokens(), zero.data(), p.d_o.data(), zero.data(), expected.gradients());
  cpu::intra_chunk_backward<Gate>(shape, 8, p.tokens(), p.d_o.data(), actual.gradients());
  cpu::add_carry_backward<Gate>(shape, 8, p.tokens(), nullptr, p.d_o.data(), nullptr, actual.gradients());
  EXPECT_EQ(expected.dq, actual.dq);
  EXPECT_EQ(expected.dk, actual.dk);
  EXPECT_EQ(expected.dv, actual.dv);
  EXPECT_EQ(expected.dlog_decay, actual.dlog_decay);
}

}  // namespace
}  // namespace allscan::test
