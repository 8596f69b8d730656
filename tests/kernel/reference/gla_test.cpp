#include <allscan/kernel/reference/gla.hpp>

#include "kernel/gla_problem.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace allscan::test {
namespace {

template <class Case>
class reference_gla : public ::testing::Test {};
TYPED_TEST_SUITE(reference_gla, kernel_cases);

template <class Gate>
long double loss(const gla_problem<long double>& p) {
  gla_result<long double> r{p};
  reference::gla_forward<Gate>(p.shape, p.tokens(), p.initial.data(), r.o.data(), r.final.data());
  long double sum = 0;
  for (std::size_t i = 0; i < r.o.size(); ++i) sum += r.o[i] * p.d_o[i];
  for (std::size_t i = 0; i < r.final.size(); ++i) sum += r.final[i] * p.d_final[i];
  return sum;
}

/// Central differences of the loss with respect to every element of one input.
template <class Gate>
std::vector<long double> differences(const gla_problem<long double>& p,
                                     std::vector<long double> gla_problem<long double>::*input) {
  constexpr long double h = 1e-6L;
  std::vector<long double> slopes;
  for (std::size_t i = 0; i < (p.*input).size(); ++i) {
    gla_problem<long double> above = p;
    gla_problem<long double> below = p;
    (above.*input)[i] += h;
    (below.*input)[i] -= h;
    slopes.push_back((loss<Gate>(above) - loss<Gate>(below)) / (2 * h));
  }
  return slopes;
}

template <class Gate>
void expect_adjoint_is_the_derivative() {
  const auto gate = [](std::mt19937& random, std::size_t t, std::size_t, std::size_t) {
    return t == 3 ? -6.0 : std::uniform_real_distribution<double>{-1.0, 0.0}(random);
  };
  const auto p = random_problem<Gate>({.batch = 2, .tokens = 7, .heads = 2, .key_dim = 3, .value_dim = 2}, gate)
                     .template as<long double>();
  const auto r = serial<Gate>(p);
  using problem = gla_problem<long double>;
  constexpr double limit = 1e-10;
  EXPECT_LE(distance(differences<Gate>(p, &problem::q), r.dq, 0.0), limit);
  EXPECT_LE(distance(differences<Gate>(p, &problem::k), r.dk, 0.0), limit);
  EXPECT_LE(distance(differences<Gate>(p, &problem::v), r.dv, 0.0), limit);
  EXPECT_LE(distance(differences<Gate>(p, &problem::log_decay), r.dlog_decay, 0.0), limit);
  EXPECT_LE(distance(differences<Gate>(p, &problem::initial), r.d_initial, 0.0), limit);
}

TEST(reference_gla_adjoint, is_the_derivative_of_the_forward_run_with_a_scalar_gate) {
  expect_adjoint_is_the_derivative<kind::scalar>();
}

TEST(reference_gla_adjoint, is_the_derivative_of_the_forward_run_with_a_diagonal_gate) {
  expect_adjoint_is_the_derivative<kind::diagonal>();
}

TEST(reference_gla_golden, reproduces_every_case) {
  for (const std::string& name : golden_names()) {
    const golden_case golden{name};
    with_gate_of(golden, [&]<class Gate>() {
      const auto p = problem_of(golden);
      expect_golden(golden, serial<Gate>(p), name);
      expect_golden(golden, serial<Gate>(p.template as<float>()), name + " in float");
    });
  }
}

TEST(reference_gla_golden, hands_the_expected_states_over_every_cut) {
  for (const std::string& name : golden_names()) {
    const golden_case golden{name};
    for (const std::size_t at : golden.cuts()) {
      with_gate_of(golden, [&]<class Gate>() {
        const auto p = problem_of(golden);
        const auto left = cut(p, {0, at});
        const auto right = cut(p, {at, p.shape.tokens});
        const std::string where = name + " at " + std::to_string(at);
        expect_close(golden.tensor("carry_" + std::to_string(at)), serial<Gate>(left).final, 1e-12, "carry, " + where);
        expect_close(golden.tensor("dcarry_" + std::to_string(at)), serial<Gate>(right).d_initial, 1e-12, "dcarry, " + where);
      });
    }
  }
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TYPED_TEST(reference_gla, is_equal_to_the_bit_wherever_the_sequence_is_cut) {
  using Gate = typename TypeParam::gate;
  using T = typename TypeParam::scalar;
  for (const std::size_t tokens : {1U, 2U, 37U}) {
    const auto p = random_problem<Gate>({.batch = 2, .tokens = tokens, .heads = 3, .key_dim = 5, .value_dim = 11}, mild_gate)
                       .template as<T>();
    const auto whole = serial<Gate>(p);
    for (std::size_t at = 0; at <= tokens; ++at) {
      auto left = cut(p, {0, at});
      auto right = cut(p, {at, tokens});
      right.initial = serial<Gate>(left).final;
      const auto right_result = serial<Gate>(right);
      left.d_final = right_result.d_initial;
      const auto left_result = serial<Gate>(left);

      gla_result<T> joined{p};
      paste(left_result, p.shape, {0, at}, joined);
      paste(right_result, p.shape, {at, tokens}, joined);
      EXPECT_TRUE(same_bits(whole.o, joined.o)) << at;
      EXPECT_TRUE(same_bits(whole.final, right_result.final)) << at;
      EXPECT_TRUE(same_bits(whole.dq, joined.dq)) << at;
      EXPECT_TRUE(same_bits(whole.dk, joined.dk)) << at;
      EXPECT_TRUE(same_bits(whole.dv, joined.dv)) << at;
      EXPECT_TRUE(same_bits(whole.dlog_decay, joined.dlog_decay)) << at;
      EXPECT_TRUE(same_bits(whole.d_initial, left_result.d_initial)) << at;
    }
  }
}

TYPED_TEST(reference_gla, takes_null_states_as_zero_and_returns_none_where_null) {
  using Gate = typename TypeParam::gate;
  using T = typename TypeParam::scalar;
  auto p =
      random_problem<Gate>({.batch = 1, .tokens = 9, .heads = 2, .key_dim = 4, .value_dim = 3}, mild_gate).template as<T>();
  std::fill(p.initial.begin(), p.initial.end(), T(0));
  std::fill(p.d_final.begin(), p.d_final.end(), T(0));
  const auto expected = serial<Gate>(p);
  gla_result<T> r{p};
  reference::gla_forward<Gate>(p.shape, p.tokens(), nullptr, r.o.data(), nullptr);
  reference::gla_backward<Gate>(p.shape, p.tokens(), nullptr, p.d_o.data(), nullptr, r.gradients(), nullptr);
  EXPECT_EQ(expected.o, r.o);
  EXPECT_EQ(expected.dq, r.dq);
  EXPECT_EQ(expected.dk, r.dk);
  EXPECT_EQ(expected.dv, r.dv);
  EXPECT_EQ(expected.dlog_decay, r.dlog_decay);
}

TYPED_TEST(reference_gla, updates_states_in_place) {
  using Gate = typename TypeParam::gate;
  using T = typename TypeParam::scalar;
  const auto p =
      random_problem<Gate>({.batch = 2, .tokens = 9, .heads = 2, .key_dim = 4, .value_dim = 3}, mild_gate).template as<T>();
  const auto expected = serial<Gate>(p);
  gla_result<T> r{p};
  std::vector<T> state = p.initial;
  std::vector<T> d_state = p.d_final;
  reference::gla_forward<Gate>(p.shape, p.tokens(), state.data(), r.o.data(), state.data());
  reference::gla_backward<Gate>(p.shape, p.tokens(), p.initial.data(), p.d_o.data(), d_state.data(), r.gradients(),
                                d_state.data());
  EXPECT_EQ(expected.final, state);
  EXPECT_EQ(expected.d_initial, d_state);
}

TYPED_TEST(reference_gla, passes_states_through_no_tokens) {
  using Gate = typename TypeParam::gate;
  using T = typename TypeParam::scalar;
  const auto p =
      random_problem<Gate>({.batch = 2, .tokens = 0, .heads = 2, .key_dim = 4, .value_dim = 3}, mild_gate).template as<T>();
  const auto r = serial<Gate>(p);
  EXPECT_EQ(p.initial, r.final);
  EXPECT_EQ(p.d_final, r.d_initial);
}

/// 1 - 1e-4 rounded to float is off by up to 3e-8, which 1e5 tokens would make an error of 3e-3.
TYPED_TEST(reference_gla, stays_accurate_over_a_hundred_thousand_weak_gates) {
  using Gate = typename TypeParam::gate;
  using T = typename TypeParam::scalar;
  const auto weak = [](std::mt19937&, std::size_t, std::size_t, std::size_t) { return -1e-4; };
  const auto p = random_problem<Gate>({.batch = 1, .tokens = 100000, .heads = 1, .key_dim = 2, .value_dim = 3}, weak);
  expect_close(serial<Gate>(p.template as<long double>()), serial<Gate>(p.template as<T>()), "weak gates");
}

}  // namespace
}  // namespace allscan::test
