#include <allscan/combiner/laws.hpp>
#include <allscan/combiner/models.hpp>
#include <support/exact_combiners.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace allscan::test {
namespace {

template <class C>
class laws : public testing::Test {};
using combiners =
    testing::Types<linear_attention<float>, retention<float>, gla<float>, gla<double>, hgrn<float>, rotary<float>,
                   rotary<double>, deltanet<float>, deltanet<double>, exact_accumulate, exact_affine<kind::scalar>,
                   exact_affine<kind::diagonal>, exact_affine<kind::elementwise>, exact_rotation, exact_dense>;
TYPED_TEST_SUITE(laws, combiners);

TYPED_TEST(laws, hold) {
  for (const std::uint64_t seed : {1U, 2U}) {
    for (const state_shape& shape : {state_shape{2, 3, 4, 5}, state_shape{1, 1, 2, 1}, state_shape{1, 2, 18, 40}}) {
      const law_report report = test_combiner_laws(TypeParam{}, {.shape = shape, .seed = seed});
      EXPECT_TRUE(report.passed()) << report.failure;
      EXPECT_GE(report.checked.size(), 13U);
    }
  }
}

TYPED_TEST(laws, hold_for_empty_states) { EXPECT_TRUE(test_combiner_laws(TypeParam{}, {.shape = {2, 0, 4, 5}}).passed()); }

/// What a law report says of a combiner that breaks one law.
template <class C>
std::string failure_of(const C& c, const law_options<C>& options = {}) {
  return test_combiner_laws(c, options).failure;
}
void expect_starts_with(const std::string& text, const std::string& start) {
  EXPECT_EQ(text.substr(0, start.size()), start) << text;
}

struct affine {
  using scalar = double;
  using kind = allscan::kind::diagonal;
  static double apply(double a, double carry, double local) { return a * carry + local; }
};

TEST(broken_law, identity) {
  struct broken : affine {
    static double identity() { return 1; }
  };
  expect_starts_with(failure_of(broken{}), "identity: at [0, 0, 0, 0] of [2, 3, 4, 5], ");
}

TEST(broken_law, wrong_composition) {
  struct broken : affine {
    static double compose(double earlier, double later) { return earlier + later; }
  };
  expect_starts_with(failure_of(broken{}), "apply after compose = apply after apply: at [");
}

TEST(broken_law, composition_that_forgets_a_reset) {
  struct broken {
    using scalar = double;
    using kind = allscan::kind::diagonal;
    static double prepare(double log) { return std::exp(log); }
    static double apply(double a, double carry, double local) { return a * carry + local; }
    static bool is_reset(double log) { return log == -std::numeric_limits<double>::infinity(); }
    static double compose(double earlier, double later) { return std::max(earlier + later, -700.0); }
  };
  expect_starts_with(failure_of(broken{}), "a summary composed with a reset resets: at [");
}

TEST(broken_law, adjoint_that_is_not_the_transpose) {
  struct broken {
    using scalar = float;
    using kind = allscan::kind::rotation;
    using transition = pair<float>;
    static pair<float> apply(pair<float> r, pair<float> carry, pair<float> local) {
      return {r.x * carry.x - r.y * carry.y + local.x, r.y * carry.x + r.x * carry.y + local.y};
    }
    static pair<float> apply_adjoint(pair<float> r, pair<float> d_outgoing, pair<float> d_local) {
      return apply(r, d_outgoing, d_local);
    }
  };
  expect_starts_with(failure_of(broken{}), "<d, A x> = <A^T d, x>: ");
}

TEST(broken_law, adjoint_off_by_one_in_an_integer) {
  struct broken : exact_affine<kind::diagonal> {
    static std::uint32_t apply_adjoint(std::uint32_t a, std::uint32_t d_outgoing, std::uint32_t d_local) {
      return a * d_outgoing + d_local + 1;
    }
  };
  expect_starts_with(failure_of(broken{}), "<d, A x> = <A^T d, x>: ");
}

TEST(broken_law, apply_that_remembers) {
  struct broken : affine {
    std::shared_ptr<int> calls = std::make_shared<int>(0);
    double apply(double a, double carry, double local) const { return a * carry + local + *calls * ((*calls)++ > 200 ? 1 : 0); }
  };
  expect_starts_with(failure_of(broken{}), "a state cut into blocks folds to the same bits: at [");
}

TEST(law_report, says_what_could_not_be_checked) {
  const law_report report = test_combiner_laws(affine{});
  EXPECT_TRUE(report.passed()) << report.failure;
  ASSERT_EQ(report.skipped.size(), 2U);
  EXPECT_NE(report.skipped[0].find("reset by number"), std::string::npos);
  EXPECT_NE(report.skipped[1].find("no compose"), std::string::npos);
}

/// A decayed running maximum: its factors must not be negative, so the numbers are drawn by the caller.
TEST(law_options, choose_the_numbers) {
  struct maximum {
    using scalar = double;
    using kind = allscan::kind::elementwise;
    using transition = float;
    static double apply(float a, double carry, double local) { return std::max(a * carry, local); }
    static double identity() { return -std::numeric_limits<double>::infinity(); }
    static bool is_reset(float a) { return a == 0.5F; }
    static float compose(float earlier, float later) { return is_reset(earlier) || is_reset(later) ? 0.5F : earlier * later; }
  };
  std::size_t drawn = 0;
  law_options<maximum> options{.shape = {1, 1, 2, 3}};
  options.transition = [&](std::mt19937_64& random) {
    ++drawn;
    return random() % 2 == 0 ? 0.25F : 0.125F;
  };
  options.state = [](std::mt19937_64& random) { return static_cast<double>(random() % 16); };
  options.reset = 0.5F;
  const law_report report = test_combiner_laws(maximum{}, options);
  EXPECT_TRUE(report.passed()) << report.failure;
  EXPECT_GT(drawn, 0U);
  EXPECT_TRUE(report.skipped.empty());
}

TEST(law_options, are_needed_where_numbers_cannot_be_made_up) {
  struct number {
    float a;
    float b;
  };
  struct custom : affine {
    using transition = number;
    static double apply(number t, double carry, double local) { return static_cast<double>(t.a * t.b) * carry + local; }
  };
  EXPECT_THROW((void)test_combiner_laws(custom{}), invalid_argument);
  EXPECT_THROW((void)test_combiner_laws(rotary<float>{}, {.shape = {1, 1, 3, 2}}), invalid_argument);
}

}  // namespace
}  // namespace allscan::test
