#include <allscan/combiner/adjoint.hpp>
#include <allscan/combiner/models.hpp>
#include <support/exact_combiners.hpp>
#include <support/kind_checks.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace allscan::test {
namespace {

static_assert(combiner<adjoint<gla<float>>>);
static_assert(has_adjoint<adjoint<gla<float>>>);
static_assert(is_adjoint<adjoint<gla<float>>>);
static_assert(!is_adjoint<gla<float>>);
static_assert(!is_adjoint<adjoint<adjoint<gla<float>>>>);
static_assert(std::is_same_v<decltype(adjoint{gla<float>{}}), adjoint<gla<float>>>);
static_assert(std::is_same_v<decltype(adjoint{adjoint{gla<float>{}}}), adjoint<adjoint<gla<float>>>>);
static_assert(composable<adjoint<rotary<float>>>);
static_assert(composable<adjoint<exact_dense>>);
static_assert(is_log_space<adjoint<gla<float>>>);

/// A combiner whose transitions do not commute, so that the order of a composition shows.
struct noting_order {
  using scalar = double;
  using kind = allscan::kind::diagonal;
  double base = 10;
  double prepare(double t) const { return t + base; }
  double identity() const { return -1; }
  bool is_reset(double t) const { return t == 99; }
  static double apply(double a, double carry, double local) { return a * carry + local; }
  static double apply_adjoint(double a, double d_outgoing, double d_local) { return a * d_outgoing - d_local; }
  double compose(double earlier, double later) const { return base * later + earlier; }
};

TEST(adjoint, forwards_to_the_combiner_it_holds) {
  const adjoint<noting_order> c{noting_order{.base = 100}};
  EXPECT_EQ(c.prepare(1), 101);
  EXPECT_EQ(c.identity(), -1);
  EXPECT_TRUE(c.is_reset(99));
  EXPECT_EQ(c.apply(2, 3, 4), 2);
  EXPECT_EQ(c.apply_adjoint(2, 3, 4), 10);
  EXPECT_EQ(plain(c).base, 100);
}

TEST(adjoint, composes_in_the_other_order) {
  const noting_order c;
  EXPECT_EQ(c.compose(1, 2), 21);
  EXPECT_EQ((adjoint<noting_order>{c}.compose(1, 2)), 12);
}

TEST(adjoint, of_an_adjoint_is_the_combiner) {
  const auto twice = adjoint{adjoint{noting_order{}}};
  EXPECT_EQ(twice.apply(2, 3, 4), 10);
  EXPECT_EQ(twice.compose(1, 2), 21);
  static_assert(std::is_same_v<decltype(plain(twice)), const noting_order&>);
}

TEST(adjoint, of_an_adjoint_folds_to_the_same_bits) {
  const state_shape shape{2, 2, 6, 9};
  fold_case<exact_dense> once{shape};
  fold_case<adjoint<adjoint<exact_dense>>> twice{shape};
  EXPECT_EQ(once.fold(), twice.fold());
}

}  // namespace
}  // namespace allscan::test
