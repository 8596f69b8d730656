#include <allscan/ops/gla_operator.hpp>

#include "ops/gla_operator_suite.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <type_traits>

namespace allscan::test {
namespace {

using precisions = testing::Types<std::tuple<kind::diagonal, float>, std::tuple<kind::diagonal, double>>;
INSTANTIATE_TYPED_TEST_SUITE_P(gla, gla_operators, precisions);

TEST(gla_operator, is_float_unless_told) {
  thread::run(1, [](thread::communicator comm) {
    gla_operator op{comm, token_shape{.tokens = 3}, {.chunk = 64}};
    static_assert(std::is_same_v<decltype(op), gla_operator<float, thread::communicator>>);
    EXPECT_EQ(op.shape().tokens, 3U);
  });
}

}  // namespace
}  // namespace allscan::test
