#include <allscan/combiner/decay.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace allscan::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(decay, only_minus_infinity_resets) {
  using c = decay<kind::diagonal, double>;
  EXPECT_TRUE(c::is_reset(-inf));
  for (const double x : {0.0, -0.0, -1000.0, std::numeric_limits<double>::lowest(), inf, nan})
    EXPECT_FALSE(c::is_reset(x)) << x;
}

TEST(decay, logs_add_and_a_reset_stays_one) {
  using c = decay<kind::scalar, double>;
  EXPECT_EQ(c::compose(-0.25, -0.5), -0.75);
  EXPECT_EQ(c::compose(-1e300, -1e300), -2e300) << "a product of decays that underflows is still a log";
  for (const double other : {0.0, -1.0, -inf, inf, nan}) {
    EXPECT_EQ(c::compose(-inf, other), -inf) << other;
    EXPECT_EQ(c::compose(other, -inf), -inf) << other;
  }
  EXPECT_TRUE(std::isnan(c::compose(nan, -1.0)));
}

TEST(decay, an_element_is_scaled_and_added) {
  using c = decay<kind::elementwise, float>;
  EXPECT_EQ(c::apply(0.5F, 3.0F, 1.0F), 2.5F);
  EXPECT_EQ(c::apply_adjoint(0.5F, 3.0F, 1.0F), 2.5F);
  EXPECT_FLOAT_EQ(c::prepare(-1.0F), std::exp(-1.0F));
}

TEST(accumulate, adds) {
  EXPECT_EQ(accumulate<float>::apply({}, 2.0F, 3.0F), 5.0F);
  EXPECT_EQ(accumulate<float>::apply_adjoint({}, 2.0F, 3.0F), 5.0F);
}

TEST(rotary, turns_x_towards_y) {
  const double quarter = std::acos(0.0);
  const auto turn = rotary<double>::prepare({0, quarter});
  const auto out = rotary<double>::apply(turn, {2, 0}, {10, 20});
  EXPECT_NEAR(out.x, 10, 1e-15);
  EXPECT_NEAR(out.y, 22, 1e-15);
  const auto back = rotary<double>::apply_adjoint(turn, {0, 2}, {0, 0});
  EXPECT_NEAR(back.x, 2, 1e-15);
  EXPECT_NEAR(back.y, 0, 1e-15);
}

TEST(rotary, decays_while_it_turns) {
  const auto turn = rotary<double>::prepare({-1.5, 0.3});
  EXPECT_NEAR(turn.x, std::exp(-1.5) * std::cos(0.3), 1e-16);
  EXPECT_NEAR(turn.y, std::exp(-1.5) * std::sin(0.3), 1e-16);
}

TEST(rotary, logs_and_angles_add_and_a_reset_stays_one) {
  const auto both = rotary<double>::compose({-0.5, 1}, {-0.25, 2});
  EXPECT_EQ(both, (polar<double>{-0.75, 3}));
  EXPECT_TRUE(rotary<double>::is_reset(rotary<double>::compose({-inf, 1}, {nan, 2})));
  EXPECT_FALSE(rotary<double>::is_reset(polar<double>{-1000, 1}));
}

TEST(dense_transition, multiplies_and_accumulates) {
  EXPECT_EQ(dense_transition<double>::apply(2, 3, 4), 10);
  EXPECT_EQ(dense_transition<double>::apply_adjoint(2, 3, 4), 10);
  EXPECT_TRUE(dense_transition<double>::is_reset(-inf));
  EXPECT_EQ(dense_transition<double>::compose(-1, -2), -3);
}

}  // namespace
}  // namespace allscan::test
