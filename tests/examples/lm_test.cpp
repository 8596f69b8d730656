#include "../../examples/lm/model.hpp"

#include "../../examples/lm/adam.hpp"
#include "../../examples/lm/json.hpp"
#include "../../examples/lm/matrix.hpp"
#include "../../examples/lm/options.hpp"
#include "../../examples/lm/ranks.hpp"
#include "../../examples/lm/run.hpp"
#include "../../examples/lm/text.hpp"
#include "../../examples/lm/trainer.hpp"
#include "../../examples/lm/verification.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace lm {
namespace {

constexpr model_shape tiny{.width = 6, .heads = 2, .key_dim = 3, .value_dim = 4, .hidden = 5, .blocks = 2, .symbols = 128};

/// Few different bytes, none periodic.
std::vector<std::uint8_t> some_text(std::size_t size) {
  random_numbers random{7};
  std::vector<std::uint8_t> text(size);
  for (std::uint8_t& b : text) b = static_cast<std::uint8_t>('a' + random.bits() % 5);
  return text;
}

template <class Function>
void on_ranks(int ranks, Function f) {
  thread_team team{ranks};
  allscan::thread::run(ranks, [&](const allscan::thread::communicator& comm) {
    try {
      f(thread_ranks{team, comm});
    } catch (...) {
      team.leave(std::current_exception());
      throw;
    }
  });
}

template <class T>
class lm_matrix : public testing::Test {};
using precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(lm_matrix, precisions);

// Sizes on both sides of a tile and of the depth of a panel; small integers, so that sums are exact in any order.
TYPED_TEST(lm_matrix, ProductsAreTheSumsOfTheirDefinition) {
  using T = TypeParam;
  random_numbers random{1};
  const auto integers = [&](std::size_t rows, std::size_t cols) {
    matrix<T> m{rows, cols};
    for (T& x : m) x = static_cast<T>(random.bits() % 7) - 3;
    return m;
  };
  for (const std::size_t rows : {1U, 3U, 4U, 5U, 17U}) {
    for (const std::size_t inner : {1U, 2U, 255U, 256U, 257U, 600U}) {
      for (const std::size_t cols : {1U, 7U, 8U, 16U, 19U}) {
        const matrix<T> a = integers(rows, inner);
        const matrix<T> b = integers(inner, cols);
        matrix<T> a_columns{inner, rows};
        matrix<T> b_columns{cols, inner};
        for (std::size_t k = 0; k < inner; ++k) {
          for (std::size_t i = 0; i < rows; ++i) a_columns.row(k)[i] = a.row(i)[k];
          for (std::size_t j = 0; j < cols; ++j) b_columns.row(j)[k] = b.row(k)[j];
        }
        const matrix<T> plain = product(a, b);
        matrix<T> turned = integers(rows, cols);
        const matrix<T> before = turned;
        add_product(transposed(a_columns), transposed(b_columns), turned);
        for (std::size_t i = 0; i < rows; ++i) {
          for (std::size_t j = 0; j < cols; ++j) {
            T expected = 0;
            for (std::size_t k = 0; k < inner; ++k) expected += a.row(i)[k] * b.row(k)[j];
            ASSERT_EQ(plain.row(i)[j], expected) << rows << ' ' << inner << ' ' << cols;
            ASSERT_EQ(turned.row(i)[j], before.row(i)[j] + expected) << rows << ' ' << inner << ' ' << cols;
          }
        }
      }
    }
  }
}

class lm_model : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, lm_model, testing::Values(1, 2, 3, 8));

/// The mean loss over a sequence, on one rank.
double loss_of(const parameters<double>& w, bytes sequence) {
  return mean(lone_rank{}, losses(lone_rank{}.communicator(), w, tiny, part_of(sequence, 1, 0)));
}

/// The gradient of that, summed over `ranks` ranks.
parameters<double> gradient_of(const parameters<double>& w, bytes sequence, int ranks) {
  parameters<double> total{tiny};
  on_ranks(ranks, [&](const thread_ranks& self) {
    const part own = part_of(sequence, self.size(), self.rank());
    auto gla = make_gla<double>(self.communicator(), tiny, own.inputs.size());
    trace<double> t;
    parameters<double> d_w{tiny};
    const matrix<double> logits = forward(w, gla, own.inputs, t);
    const double weight = 1 / static_cast<double>(sequence.size() - 1);
    backward(w, gla, own.inputs, t, cross_entropy_backward(logits, own.targets, weight), d_w);
    for (const auto& each : tensors(d_w)) self.sum(std::span{each.values->data(), each.values->size()});
    if (self.rank() == 0) total = d_w;
  });
  return total;
}

/// By central differences, on one rank.
parameters<double> differences_of(parameters<double> w, bytes sequence) {
  parameters<double> differences{tiny};
  const auto found = tensors(differences);
  const auto weights = tensors(w);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (std::size_t j = 0; j < weights[i].values->size(); ++j) {
      double& x = weights[i].values->data()[j];
      const double kept = x;
      const double h = 1e-5;
      x = kept + h;
      const double above = loss_of(w, sequence);
      x = kept - h;
      const double below = loss_of(w, sequence);
      x = kept;
      found[i].values->data()[j] = (above - below) / (2 * h);
    }
  }
  return differences;
}

TEST_P(lm_model, GradientsAreTheCentralDifferencesOfTheLoss) {
  static const parameters<double> w = initial_parameters<double>(tiny, 3);
  static const parameters<double> differences = differences_of(w, some_text(14));
  const parameters<double> gradient = gradient_of(w, some_text(14), GetParam());
  const auto expected = tensors(differences);
  const auto found = tensors(gradient);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_LT(rms_difference(*found[i].values, *expected[i].values), 1e-5) << expected[i].name;
  }
}

TEST_P(lm_model, GradientsDoNotDependOnTheRanks) {
  const std::vector<std::uint8_t> text = some_text(100);
  const parameters<double> w = initial_parameters<double>(tiny, 4);
  const parameters<double> one = gradient_of(w, text, 1);
  const parameters<double> many = gradient_of(w, text, GetParam());
  const auto expected = tensors(one);
  const auto found = tensors(many);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_LT(rms_difference(*found[i].values, *expected[i].values), 1e-12) << expected[i].name;
  }
}

TEST_P(lm_model, LearnsAlikeOnAnyRanksAndTellsWhenItDoesNot) {
  const std::vector<std::uint8_t> text = some_text(300);
  const training_options options{.shape = tiny, .tokens = 64, .rate = {.peak = 1e-2, .warmup = 3, .steps = 8}, .seed = 5};
  std::vector<double> curve(8);
  parameters<double> learnt{tiny};
  on_ranks(GetParam(), [&](const thread_ranks& self) {
    trainer<double, thread_ranks> model{self, options, text};
    for (double& each : curve) {
      const double loss = model.step();
      if (self.rank() == 0) each = loss;
    }
    if (self.rank() == 0) learnt = model.weights();
  });
  EXPECT_LT(curve.back(), curve.front());

  const comparison equal = compare_with_one_rank(options, text, curve, learnt);
  EXPECT_TRUE(equal.passes());
  EXPECT_LT(equal.loss_difference, 1e-12);

  parameters<double> other = learnt;
  other.blocks[1].decay.data()[0] *= 1 + 1e-6;
  EXPECT_FALSE(compare_with_one_rank(options, text, curve, other).passes());
  other.blocks[1].decay.data()[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(compare_with_one_rank(options, text, curve, other).passes());
  curve[2] += 1e-6;
  EXPECT_FALSE(compare_with_one_rank(options, text, curve, learnt).passes());
}

TEST_P(lm_model, SeveringTheCarryChangesOnlyWhatFollowsABoundary) {
  const std::vector<std::uint8_t> text = some_text(200);
  const parameters<double> w = initial_parameters<double>(tiny, 6);
  on_ranks(GetParam(), [&](const thread_ranks& self) {
    const part own = part_of(text, self.size(), self.rank());
    const std::vector<double> carried = losses(self.communicator(), w, tiny, own);
    const std::vector<double> severed = losses(lone_rank{}.communicator(), w, tiny, own);
    EXPECT_EQ(carried == severed, self.rank() == 0) << "rank " << self.rank();
    if (self.size() > 1) {
      const carry_control control = control_carry(self, w, tiny, own, carried);
      EXPECT_NE(control.carried, control.severed);
    }
  });
}

TEST_P(lm_model, SumsAreTheSameToTheBitOnEveryRank) {
  const auto size = static_cast<std::size_t>(GetParam());
  for (const std::size_t elements : {std::size_t{0}, std::size_t{1}, size, 3 * size + 1}) {
    std::vector<std::vector<float>> sums(size, std::vector<float>(elements));
    std::vector<float> expected(elements);
    for (std::size_t i = 0; i < elements; ++i) {
      for (std::size_t rank = 0; rank < size; ++rank)
        expected[i] += sums[rank][i] = 1.0F / static_cast<float>(3 + i + 5 * rank);
    }
    on_ranks(GetParam(), [&](const thread_ranks& self) { self.sum(std::span{sums[static_cast<std::size_t>(self.rank())]}); });
    for (const std::vector<float>& each : sums) EXPECT_EQ(each, expected);
  }
}

TEST_P(lm_model, ARankThatFailsTakesTheOthersWithIt) {
  const int last = GetParam() - 1;
  try {
    on_ranks(GetParam(), [&](const thread_ranks& self) {
      if (self.rank() == last) throw std::runtime_error("no luck");
      (void)gather(self, 1);
    });
    FAIL() << "no exception";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "no luck");
  }
}

TEST(lm_adam, TheFirstStepHasTheSizeOfTheRate) {
  parameters<double> w{tiny};
  parameters<double> gradient{tiny};
  gradient.readout.data()[0] = 3;
  gradient.readout.data()[1] = -1e-3;
  adam<double> optimizer{tiny};
  optimizer.update(w, gradient, 0.5);
  EXPECT_NEAR(w.readout.data()[0], -0.5, 1e-4);
  EXPECT_NEAR(w.readout.data()[1], 0.5, 1e-4);
  EXPECT_EQ(w.readout.data()[2], 0);
}

TEST(lm_adam, TheRateRisesThenFalls) {
  const learning_rate rate{.peak = 1, .warmup = 4, .steps = 104};
  EXPECT_DOUBLE_EQ(rate.at(0), 0.25);
  EXPECT_DOUBLE_EQ(rate.at(3), 1);
  EXPECT_DOUBLE_EQ(rate.at(4), 1);
  EXPECT_NEAR(rate.at(54), 0.55, 1e-12);
  EXPECT_NEAR(rate.at(104), 0.1, 1e-12);
  const learning_rate within_warmup{.peak = 1, .warmup = 4, .steps = 2};
  EXPECT_DOUBLE_EQ(within_warmup.at(1), 0.5);
}

bytes bytes_of(std::string_view s) { return {reinterpret_cast<const std::uint8_t*>(s.data()), s.size()}; }

TEST(lm_text, EntropiesOfTextsThatOneCanWorkOut) {
  EXPECT_EQ(entropies_of(bytes_of("aaaa")).byte, 0);
  EXPECT_NEAR(entropies_of(bytes_of("abababab")).byte, std::log(2), 1e-12);
  EXPECT_NEAR(entropies_of(bytes_of("abababab")).conditional, 0, 1e-12);
  // pairs aa, ab, ba, aa, ab: after a, half are a; after b, always a
  EXPECT_NEAR(entropies_of(bytes_of("aabaab")).conditional, 4.0 / 5 * std::log(2), 1e-12);
}

TEST(lm_text, WindowsReachBothEndsAndNeverPastThem) {
  const std::vector<std::uint8_t> text = some_text(12);
  random_numbers random{1};
  bool first = false;
  bool last = false;
  for (int i = 0; i < 200; ++i) {
    const bytes window = random_window(text, 9, random);
    ASSERT_EQ(window.size(), 10);
    ASSERT_GE(window.data(), text.data());
    ASSERT_LE(window.data() + window.size(), text.data() + text.size());
    first = first || window.data() == text.data();
    last = last || window.data() + window.size() == text.data() + text.size();
  }
  EXPECT_TRUE(first && last);
  EXPECT_EQ(random_window(text, 11, random).data(), text.data());
}

TEST(lm_text, TheGateStartsWithMemoriesOfOneToManyTokens) {
  const parameters<double> w = initial_parameters<double>({}, 1);
  const matrix<double> log_decay = decay_gate(w.blocks[0].decay_bias);
  EXPECT_NEAR(log_decay.data()[0], -1, 1e-12);
  EXPECT_NEAR(log_decay.data()[model_shape{}.key_dim - 1], -1.0 / 256, 1e-12);
}

TEST(lm_options, RefusesWhatItCannotUse) {
  const auto parse = [](std::vector<const char*> arguments) { return parse_options(arguments); };
  EXPECT_EQ(parse({"--tokens", "7", "--seed", "0", "--precision", "double", "--verify"}).tokens, 7);
  for (const auto& bad : std::vector<std::vector<const char*>>{{"--tokens"},
                                                               {"--tokens", "0"},
                                                               {"--tokens", "-1"},
                                                               {"--tokens", "7x"},
                                                               {"--tokens", ""},
                                                               {"--tokens", "99999999999999999999999"},
                                                               {"--steps", "0"},
                                                               {"--ranks", "0"},
                                                               {"--seed", "-1"},
                                                               {"--precision", "half"},
                                                               {"--layers", "3"},
                                                               {"text"}}) {
    EXPECT_THROW((void)parse(bad), std::runtime_error) << bad[0];
  }
}

TEST(lm_json, KeepsStringsAndNumbersReadable) {
  json_object inner;
  inner.add("x", true);
  inner.add("y", 3);
  json_object o;
  EXPECT_EQ(o.text(), "{}");
  o.add("text", "a \"b\"\\\n");
  o.add("half", 0.5);
  o.add("loss", std::vector<double>{1.5, std::numeric_limits<double>::infinity()});
  o.add("inner", inner);
  EXPECT_EQ(o.text(),
            "{\"text\": \"a \\\"b\\\"\\\\\\u000a\",\n \"half\": 0.5,\n \"loss\": [1.5, null],\n \"inner\": {\"x\": true,\n "
            "\"y\": 3}}");
}

}  // namespace
}  // namespace lm
