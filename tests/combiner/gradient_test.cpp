#include <allscan/combiner/gradient.hpp>
#include <allscan/combiner/host.hpp>
#include <allscan/combiner/models.hpp>
#include <support/kind_checks.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace allscan::test {
namespace {

/// One summary, and the transition gradients of the loss <weights, A carry + S>.
template <class C>
struct gradient_case : fold_case<C> {
  using scalar = scalar_of<C>;
  std::vector<scalar> weights;
  std::vector<scalar> d_log_decay;
  std::vector<scalar> d_angle;
  std::vector<scalar> d_transition;

  explicit gradient_case(const state_shape& s, std::uint64_t seed = 1) : fold_case<C>{s, seed}, weights(s.elements()) {
    std::mt19937_64 random{seed + 100};
    for (scalar& w : weights) w = static_cast<scalar>(std::uniform_real_distribution<double>{-1, 1}(random));
    d_log_decay.assign(this->summary.numbers(), scalar{42});
    d_angle = d_log_decay;
    d_transition.assign(this->summary.entries(s), scalar{42});
  }

  void compute() {
    transition_gradients<C> out;
    if constexpr (detail::takes_log_decay<C>) out.log_decay = d_log_decay;
    if constexpr (detail::takes_angle<C>) out.angle = d_angle;
    if constexpr (detail::takes_transition<C>) out.transition = d_transition;
    transition_gradient(this->c, this->shape, this->summary.template as<scan_operands<C>>(), weights, this->carry, out);
  }

  [[nodiscard]] double loss() {
    const auto out = this->fold();
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += static_cast<double>(weights[i]) * static_cast<double>(out[i]);
    return sum;
  }
  /// dLoss/dx by central differences.
  [[nodiscard]] double difference(scalar& x) {
    const scalar kept = x;
    const scalar step = static_cast<scalar>(1e-5);
    x = kept + step;
    const double above = loss();
    x = kept - step;
    const double below = loss();
    x = kept;
    return (above - below) / (2 * static_cast<double>(step));
  }
};

template <class C>
class gradient : public testing::Test {};
using combiners = testing::Types<decay<kind::scalar, double>, decay<kind::diagonal, double>, decay<kind::elementwise, double>,
                                 rotary<double>, dense_transition<double>>;
TYPED_TEST_SUITE(gradient, combiners);

/// Numbers that reset are left out: a difference there would be of Inf; their gradient is 0.
TYPED_TEST(gradient, equals_central_differences) {
  for (const state_shape& shape : {state_shape{2, 3, 4, 5}, state_shape{1, 1, 2, 1}, state_shape{1, 2, 6, 37}}) {
    SCOPED_TRACE(to_string(shape));
    gradient_case<TypeParam> f{shape};
    f.summary.reset[0] = shape.batch > 1 ? 1 : 0;
    f.compute();
    const std::size_t flagged = shape.batch > 1 ? f.summary.numbers() / shape.batch : 0;
    for (std::size_t i = 0; i < f.summary.numbers(); ++i) {
      const bool resets = i < flagged || std::isinf(f.summary.log_decay[i]);
      const double d_log = resets ? 0 : f.difference(f.summary.log_decay[i]);
      if (resets) {
        EXPECT_EQ(f.d_log_decay[i], 0);
      } else {
        EXPECT_NEAR(f.d_log_decay[i], d_log, 1e-8 * (1 + std::abs(d_log))) << "log_decay " << i;
      }
      if constexpr (detail::takes_angle<TypeParam>) {
        EXPECT_NEAR(f.d_angle[i], resets ? 0 : f.difference(f.summary.angle[i]), 1e-8) << "angle " << i;
      }
    }
    if constexpr (detail::takes_transition<TypeParam>) {
      for (std::size_t i = 0; i < f.d_transition.size(); ++i) {
        EXPECT_NEAR(f.d_transition[i], f.difference(f.summary.transition.get()[i]), 1e-8) << "entry " << i;
      }
    }
  }
}

TYPED_TEST(gradient, is_zero_at_a_reset_whatever_the_carry_holds) {
  for (const double each : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    for (const bool by_flag : {true, false}) {
      gradient_case<TypeParam> f{{2, 1, 4, 5}};
      f.carry.assign(f.carry.size(), each);
      if (by_flag) {
        f.summary.reset.assign(2, 1);
      } else {
        f.summary.log_decay.assign(f.summary.numbers(), -std::numeric_limits<double>::infinity());
      }
      f.compute();
      for (const double d : f.d_log_decay) EXPECT_EQ(d, 0);
      if constexpr (detail::takes_angle<TypeParam>) {
        for (const double d : f.d_angle) EXPECT_EQ(d, 0);
      }
      if constexpr (detail::takes_transition<TypeParam>) {
        for (const double d : f.d_transition) EXPECT_EQ(d, 0);
      }
    }
  }
}

TYPED_TEST(gradient, of_an_empty_state_is_empty_or_zero) {
  for (const state_shape& shape : empty_shapes()) {
    gradient_case<TypeParam> f{shape};
    f.compute();
    for (const double d : f.d_log_decay) EXPECT_EQ(d, 0);
  }
}

TYPED_TEST(gradient, names_a_missing_result) {
  fold_case<TypeParam> f{{1, 1, 2, 3}};
  EXPECT_THROW(transition_gradient(f.c, f.shape, f.summary.template as<scan_operands<TypeParam>>(), f.carry, f.carry,
                                   transition_gradients<TypeParam>{}),
               invalid_argument);
}

TEST(gradient_of_dense, needs_no_decay) {
  gradient_case<dense_transition<double>> f{{1, 1, 3, 4}};
  f.summary.log_decay.assign(1, 0.0);
  f.compute();
  std::vector<double> d_matrix(9);
  transition_gradient(f.c, f.shape, {.transition = f.summary.transition.get()}, f.weights, f.carry, {.transition = d_matrix});
  EXPECT_EQ(d_matrix, f.d_transition);
}

/// A whole head's sum in float: partial sums keep the error at a few units in the last place.
TEST(gradient_of_scalar, sums_a_large_head_accurately) {
  gradient_case<decay<kind::scalar, float>> f{{1, 1, 128, 128}};
  f.summary.log_decay = {-0.5F};
  f.compute();
  double exact = 0;
  double magnitude = 0;
  for (std::size_t i = 0; i < f.carry.size(); ++i) {
    const double term = static_cast<double>(f.weights[i]) * static_cast<double>(f.carry[i]);
    exact += term;
    magnitude += std::abs(term);
  }
  EXPECT_NEAR(f.d_log_decay[0], std::exp(-0.5) * exact, 1e-7 * magnitude);
}

}  // namespace
}  // namespace allscan::test
