/// All chunked kernels together, as the ranks of a split sequence use them, against the token-serial oracle and the golden
/// cases.

#include "kernel/gla_problem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace allscan::test {
namespace {

template <class Case>
class chunked_gla : public ::testing::Test {};
TYPED_TEST_SUITE(chunked_gla, kernel_cases);

std::vector<std::size_t> even_cuts(std::size_t tokens, std::size_t parts) {
  std::vector<std::size_t> cuts;
  for (std::size_t i = 0; i + 1 < parts; ++i) cuts.push_back(even_part(tokens, parts, i).end);
  return cuts;
}

template <class Gate, class T>
void expect_golden_at_every_split(const golden_case& golden) {
  const gla_problem<T> p = problem_of(golden).template as<T>();
  std::vector<std::vector<std::size_t>> splits{{}, golden.cuts()};
  for (const std::size_t parts : {2U, 3U, 8U}) splits.push_back(even_cuts(p.shape.tokens, parts));
  for (const std::size_t chunk : {4U, 16U, 64U}) {
    for (const auto& cuts : splits) {
      const std::string where =
          golden.name() + ", chunk " + std::to_string(chunk) + ", parts " + std::to_string(cuts.size() + 1);
      handed_on<T> states;
      expect_golden(golden, chunked<Gate>(p, chunk, cuts, &states), where);
      if (cuts != golden.cuts()) continue;
      for (std::size_t i = 0; i < cuts.size(); ++i) {
        const std::string at = std::to_string(cuts[i]);
        expect_close(golden.tensor("carry_" + at), states.carry[i + 1], limits<T>::forward, "carry_" + at + ", " + where);
        expect_close(golden.tensor("dcarry_" + at), states.d_carry[i + 1], limits<T>::backward, "dcarry_" + at + ", " + where);
      }
    }
  }
}

TEST(chunked_gla_golden, reproduces_every_case_whole_and_split) {
  for (const std::string& name : golden_names()) {
    const golden_case golden{name};
    with_gate_of(golden, [&]<class Gate>() {
      expect_golden_at_every_split<Gate, float>(golden);
      expect_golden_at_every_split<Gate, double>(golden);
    });
  }
}

TYPED_TEST(chunked_gla, takes_any_number_of_tokens) {
  using Gate = typename TypeParam::gate;
  for (const std::size_t tokens : {0U, 1U, 2U, 7U, 8U, 9U, 15U, 16U, 17U, 31U, 33U, 63U, 64U, 65U, 127U, 513U}) {
    const auto p = random_problem<Gate>({.batch = 2, .tokens = tokens, .heads = 2, .key_dim = 5, .value_dim = 6}, mild_gate);
    const auto expected = serial<Gate>(p);
    for (const std::size_t chunk : {1U, 3U, 16U, 64U, 1000U}) {
      const auto x = p.template as<typename TypeParam::scalar>();
      expect_close(expected, chunked<Gate>(x, chunk), "tokens " + std::to_string(tokens) + ", chunk " + std::to_string(chunk));
    }
  }
}

TYPED_TEST(chunked_gla, takes_any_dimensions) {
  using Gate = typename TypeParam::gate;
  const token_shape shapes[] = {
      {.batch = 1, .tokens = 40, .heads = 1, .key_dim = 1, .value_dim = 1},
      {.batch = 2, .tokens = 70, .heads = 3, .key_dim = 16, .value_dim = 24},
      {.batch = 1, .tokens = 70, .heads = 1, .key_dim = 60, .value_dim = 100},
      {.batch = 1, .tokens = 70, .heads = 2, .key_dim = 100, .value_dim = 60},
      {.batch = 1, .tokens = 66, .heads = 1, .key_dim = 64, .value_dim = 128},
      {.batch = 1, .tokens = 66, .heads = 1, .key_dim = 256, .value_dim = 3},
      {.batch = 3, .tokens = 20, .heads = 131, .key_dim = 2, .value_dim = 3},
      {.batch = 2, .tokens = 3, .heads = 33000, .key_dim = 1, .value_dim = 2},
  };
  for (const token_shape& s : shapes) {
    const auto p = random_problem<Gate>(s, mild_gate);
    const auto x = p.template as<typename TypeParam::scalar>();
    expect_close(serial<Gate>(p), chunked<Gate>(x, 32),
                 "key_dim " + std::to_string(s.key_dim) + ", value_dim " + std::to_string(s.value_dim) + ", heads " +
                     std::to_string(s.heads));
  }
}

TYPED_TEST(chunked_gla, takes_parts_without_tokens_and_of_one_token) {
  using Gate = typename TypeParam::gate;
  const auto p = random_problem<Gate>({.batch = 2, .tokens = 40, .heads = 2, .key_dim = 8, .value_dim = 4}, mild_gate);
  const auto x = p.template as<typename TypeParam::scalar>();
  const auto expected = serial<Gate>(p);
  for (const auto& cuts : {std::vector<std::size_t>{0, 0, 16}, {40}, {1, 2, 2, 3, 40}, {15, 16, 17, 33}}) {
    expect_close(expected, chunked<Gate>(x, 16, cuts),
                 std::to_string(cuts.size() + 1) + " parts, the first of " + std::to_string(cuts[0]) + " tokens");
  }
}

using gate_function = std::function<double(std::mt19937&, std::size_t, std::size_t, std::size_t)>;

std::vector<std::pair<std::string, gate_function>> gates() {
  std::vector<std::pair<std::string, gate_function>> list;
  for (const double g : {0.0, -1e-9, -0.05, -1.0, -5.9, -6.0, -20.0, -88.0, -104.0, -1000.0}) {
    list.emplace_back("constant " + std::to_string(g), [g](auto&, auto, auto, auto) { return g; });
  }
  list.emplace_back("anything to -1000", [](auto& random, auto, auto, auto) {
    return std::uniform_real_distribution<double>{-1000.0, 0.0}(random);
  });
  list.emplace_back("a tenth -1000, the rest -0.01",
                    [](auto& random, auto, auto, auto) { return random() % 10 == 0 ? -1000.0 : -0.01; });
  list.emplace_back("half -1000, the rest -0.003",
                    [](auto& random, auto, auto, auto) { return random() % 2 == 0 ? -1000.0 : -0.003; });
  list.emplace_back("half the rows 0, half -1000", [](auto&, auto, auto, auto row) { return row % 2 == 0 ? 0.0 : -1000.0; });
  list.emplace_back("tokens of -infinity", [](auto&, auto token, auto, auto) {
    return token % 13 == 5 ? -std::numeric_limits<double>::infinity() : -0.05;
  });
  list.emplace_back("another one for each head", [](auto&, auto, auto head, auto) { return -0.001 * std::pow(20.0, head); });
  for (const std::size_t strong : {0U, 7U, 8U, 15U, 16U, 63U, 64U, 511U}) {
    list.emplace_back("-1000 at token " + std::to_string(strong) + ", the rest weak",
                      [strong](auto&, auto token, auto, auto) { return token == strong ? -1000.0 : -0.004; });
  }
  return list;
}

TYPED_TEST(chunked_gla, takes_any_gates) {
  using Gate = typename TypeParam::gate;
  for (const auto& [name, gate] : gates()) {
    const auto p = random_problem<Gate>({.batch = 1, .tokens = 520, .heads = 3, .key_dim = 6, .value_dim = 4}, gate);
    const auto expected = serial<Gate>(p);
    const auto x = p.template as<typename TypeParam::scalar>();
    for (const std::size_t chunk : {5U, 16U, 64U, 520U}) {
      expect_close(expected, chunked<Gate>(x, chunk, {100, 260, 300}), "gates " + name + ", chunk " + std::to_string(chunk));
    }
  }
}

/// Rounded gates, sums and decays would drift apart: 1e5 tokens decay a state by e^-10.
TYPED_TEST(chunked_gla, stays_accurate_over_a_hundred_thousand_weak_gates) {
  using Gate = typename TypeParam::gate;
  const auto weak = [](std::mt19937&, std::size_t, std::size_t, std::size_t) { return -1e-4; };
  auto p = random_problem<Gate>({.batch = 1, .tokens = 100000, .heads = 1, .key_dim = 2, .value_dim = 3}, weak);
  for (double& x : p.initial) x *= 1000.0;
  const auto expected = serial<Gate>(p.template as<long double>());
  const auto x = p.template as<typename TypeParam::scalar>();
  for (const std::size_t chunk : {4U, 64U}) {
    expect_close(expected, chunked<Gate>(x, chunk, {50000}), "chunk " + std::to_string(chunk));
  }
}

TYPED_TEST(chunked_gla, gives_gradients_through_the_outputs_alone_and_through_the_final_state_alone) {
  using Gate = typename TypeParam::gate;
  const auto both = random_problem<Gate>({.batch = 2, .tokens = 50, .heads = 2, .key_dim = 8, .value_dim = 4}, mild_gate);
  auto outputs = both;
  std::fill(outputs.d_final.begin(), outputs.d_final.end(), 0.0);
  auto final = both;
  std::fill(final.d_o.begin(), final.d_o.end(), 0.0);
  for (const auto& [name, p] : {std::pair{"through outputs", outputs}, std::pair{"through the final state", final}}) {
    const auto x = p.template as<typename TypeParam::scalar>();
    expect_close(serial<Gate>(p), chunked<Gate>(x, 16, {20}), name);
  }
}

}  // namespace
}  // namespace allscan::test
