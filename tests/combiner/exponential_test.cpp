#include <allscan/combiner/exponential.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace allscan::test {
namespace {

using detail::exponential;

/// |exponential(x) - e^x| in units in the last place of e^x, which `Wide` knows exactly enough.
template <class Wide, class T>
Wide error_in_ulps(T x) {
  const Wide exact = std::exp(static_cast<Wide>(x));
  const T rounded = static_cast<T>(exact);
  const T ulp = std::nextafter(rounded, std::numeric_limits<T>::infinity()) - rounded;
  return std::abs(static_cast<Wide>(exponential(x)) - exact) / static_cast<Wide>(ulp);
}

TEST(exponential, is_within_an_ulp_and_a_quarter_in_float) {
  double worst = 0;
  for (int i = 0; i < 520000; ++i)
    worst = std::max(worst, error_in_ulps<double>(-104.5F + 0.00037123F * static_cast<float>(i)));
  EXPECT_LT(worst, 1.25);
}

TEST(exponential, is_within_an_ulp_and_a_quarter_in_double) {
  long double worst = 0;
  for (int i = 0; i < 520000; ++i) worst = std::max(worst, error_in_ulps<long double>(-746.5 + 0.0028 * i));
  EXPECT_LT(worst, 1.25L);
}

template <class T>
class exponential_of : public testing::Test {};
using types = testing::Types<float, double, long double>;
TYPED_TEST_SUITE(exponential_of, types);

TYPED_TEST(exponential_of, special_values) {
  using limits = std::numeric_limits<TypeParam>;
  EXPECT_EQ(exponential(TypeParam(0)), TypeParam(1));
  EXPECT_EQ(exponential(-TypeParam(0)), TypeParam(1));
  EXPECT_EQ(exponential(-limits::infinity()), TypeParam(0));
  EXPECT_EQ(exponential(limits::infinity()), limits::infinity());
  EXPECT_EQ(exponential(limits::lowest()), TypeParam(0));
  EXPECT_EQ(exponential(limits::max()), limits::infinity());
  EXPECT_TRUE(std::isnan(exponential(limits::quiet_NaN())));
  EXPECT_EQ(exponential(-limits::min()), TypeParam(1));
}

TYPED_TEST(exponential_of, does_not_increase_where_x_does_not) {
  TypeParam before = exponential(TypeParam(0));
  for (int i = 0; i < 2000; ++i) {
    const TypeParam now = exponential(TypeParam(-0.0013) * static_cast<TypeParam>(i));
    EXPECT_LE(now, before) << i;
    before = now;
  }
}

}  // namespace
}  // namespace allscan::test
