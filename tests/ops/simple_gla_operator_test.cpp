#include <allscan/ops/simple_gla_operator.hpp>

#include "ops/gla_operator_suite.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <type_traits>

namespace allscan::test {
namespace {

using precisions = testing::Types<std::tuple<kind::scalar, float>, std::tuple<kind::scalar, double>>;
INSTANTIATE_TYPED_TEST_SUITE_P(simple_gla, gla_operators, precisions);

TEST(simple_gla_operator, is_float_unless_told) {
  thread::run(1, [](thread::communicator comm) {
    simple_gla_operator op{comm, token_shape{.tokens = 3}};
    static_assert(std::is_same_v<decltype(op), simple_gla_operator<float, thread::communicator>>);
    EXPECT_EQ(op.shape().tokens, 3U);
  });
}

}  // namespace
}  // namespace allscan::test
