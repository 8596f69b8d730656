/// Is training on several ranks the same computation as on one, and does the carry matter?
#pragma once

#include "trainer.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

namespace lm {

inline constexpr std::size_t verified_steps = 20;

/// Differences that rounding explains. In float Adam amplifies it: a gradient near zero may change its sign, and Adam's first
/// steps have one size whatever the gradient's.
template <class T>
inline constexpr double largest_difference = std::is_same_v<T, float> ? 1e-3 : 1e-10;

/// Relative differences after a number of steps.
struct comparison {
  struct tensor {
    std::string name;
    double difference = 0;  ///< rms(a - b) / rms(b)
  };

  std::size_t steps = 0;
  double limit = 0;
  double loss_difference = 0;  ///< the largest of any step
  std::vector<tensor> tensors = {};

  /// NaN does not pass.
  [[nodiscard]] bool passes() const {
    return loss_difference <= limit &&
           std::all_of(tensors.begin(), tensors.end(), [&](const tensor& t) { return t.difference <= limit; });
  }
};

template <class T>
[[nodiscard]] double rms_difference(const matrix<T>& a, const matrix<T>& b) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const auto x = static_cast<double>(a.data()[i]);
    const auto y = static_cast<double>(b.data()[i]);
    difference += (x - y) * (x - y);
    size += y * y;
  }
  return std::sqrt(difference / size);
}

/// Repeats the first steps of a run on one rank: the calling thread. Not collective.
/// @param losses  of the run's first steps. @param weights  what the run had learnt after them.
template <class T>
[[nodiscard]] comparison compare_with_one_rank(const training_options& options, bytes text, std::span<const double> losses,
                                               const parameters<T>& weights) {
  comparison c{.steps = losses.size(), .limit = largest_difference<T>};
  const lone_rank alone;
  trainer<T, lone_rank> one{alone, options, text};
  for (const double loss : losses) {
    const double expected = one.step();
    const double difference = std::abs(loss - expected) / expected;
    if (!(difference <= c.loss_difference)) c.loss_difference = difference;  // keeps NaN
  }
  const auto expected = tensors(one.weights());
  const auto found = tensors(weights);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    c.tensors.push_back({expected[i].name, rms_difference(*found[i].values, *expected[i].values)});
  }
  return c;
}

/// The mean loss over the first tokens after each boundary between ranks.
struct carry_control {
  static constexpr std::size_t tokens = 128;

  double carried = 0;
  double severed = 0;  ///< every rank computing as if its part were the whole sequence
};

/// Collective. @param carried  this rank's losses. @param own  its part of the sequence. Needs at least two ranks.
template <class T, class Ranks>
[[nodiscard]] carry_control control_carry(const Ranks& ranks, const parameters<T>& w, const model_shape& shape, part own,
                                          std::vector<double> carried) {
  const std::size_t after = ranks.rank() == 0 ? 0 : std::min(carry_control::tokens, own.inputs.size());
  const part beginning{own.inputs.first(after), own.targets.first(after)};
  carried.resize(after);
  return {.carried = mean(ranks, carried), .severed = mean(ranks, losses(lone_rank{}.communicator(), w, shape, beginning))};
}

}  // namespace lm
