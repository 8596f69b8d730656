/// One rank's side of the whole program: train, evaluate, verify.
#pragma once

#include "report.hpp"
#include "trainer.hpp"
#include "verification.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace lm {

/// Of a longer text only the beginning is evaluated, as a rank keeps all its tokens' activations.
inline constexpr std::size_t most_evaluated_bytes = std::size_t{1} << 16;

/// @throws std::runtime_error that says how to mend it. Looks at nothing that differs between ranks.
inline void check(const options& o, bytes text, int ranks) {
  if (text.size() <= o.tokens) {
    throw std::runtime_error(o.text + " has " + std::to_string(text.size()) + " bytes, but --tokens " +
                             std::to_string(o.tokens) + " needs one more than that: pass a longer text or fewer tokens");
  }
  if (static_cast<std::size_t>(ranks) > o.tokens) {
    throw std::runtime_error(std::to_string(ranks) + " ranks cannot share " + std::to_string(o.tokens) +
                             " tokens: pass fewer --ranks or more --tokens");
  }
}

namespace detail {

/// The largest of all ranks' values.
template <class Ranks>
[[nodiscard]] double largest(const Ranks& ranks, double value) {
  return std::ranges::max(gather(ranks, value));
}

inline void report_progress(std::size_t step, std::size_t steps, double loss, double seconds) {
  if (step % std::max<std::size_t>(steps / 20, 1) != 0 && step != 1 && step != steps) return;
  std::cerr << decimal(0, "step ", step, " of ", steps) + decimal(3, ": loss ", loss) + decimal(1, ", ", seconds, " s\n");
}

}  // namespace detail

[[nodiscard]] inline training_options training_of(const options& o) {
  return {.tokens = o.tokens, .rate = {.peak = 1e-2, .warmup = 10, .steps = o.steps}, .seed = o.seed};
}

template <class T>
struct outcome {
  results found = {};
  std::optional<parameters<T>> early_weights = {};  ///< after the first `verified_steps`, or all; with --verify only
};

/// Trains and evaluates. Collective. @returns the same on every rank.
template <class T, class Ranks>
[[nodiscard]] outcome<T> run(const Ranks& ranks, const options& o, bytes text) {
  const training_options training = training_of(o);
  trainer<T, Ranks> model{ranks, training, text};

  outcome<T> out;
  results& r = out.found;
  r.text_bytes = text.size();
  r.text = entropies_of(text);
  r.ranks = ranks.size();
  r.transport = ranks.communicator().name();
  for (const auto& each : tensors(model.weights())) r.parameters += each.values->size();

  const bytes evaluated = text.first(std::min(text.size(), most_evaluated_bytes));
  const part own = part_of(evaluated, ranks.size(), ranks.rank());
  r.evaluated_bytes = evaluated.size();
  r.loss_at_start = mean(ranks, losses(ranks.communicator(), model.weights(), training.shape, own));

  const auto start = std::chrono::steady_clock::now();
  for (std::size_t step = 1; step <= o.steps; ++step) {
    const double loss = model.step();
    r.curve.push_back(loss);
    if (!std::isfinite(loss)) throw std::runtime_error("the loss is no longer finite at step " + std::to_string(step));
    r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (ranks.rank() == 0) detail::report_progress(step, o.steps, loss, r.seconds);
    if (o.verify && step == std::min(verified_steps, o.steps)) out.early_weights = model.weights();
  }
  r.tokens_per_second = static_cast<double>(o.steps * o.tokens) / r.seconds;

  const allscan::scan_statistics scans = model.gla().statistics();
  r.scans = static_cast<double>(scans.scans);
  r.bytes_sent = detail::largest(ranks, static_cast<double>(scans.bytes_sent));
  r.allgather_bytes = detail::largest(ranks, static_cast<double>(model.gla().allgather_bytes()));
  r.scan_seconds = detail::largest(ranks, scans.seconds_total);
  r.exposed_scan_seconds = detail::largest(ranks, scans.seconds_exposed);

  const std::vector<double> at_end = losses(ranks.communicator(), model.weights(), training.shape, own);
  r.loss_at_end = mean(ranks, at_end);

  if (o.verify && ranks.size() > 1) r.control = control_carry(ranks, model.weights(), training.shape, own, at_end);
  return out;
}

/// Repeats the beginning of a run on one rank: the calling thread. Not collective.
template <class T>
[[nodiscard]] comparison verify(const outcome<T>& run, const options& o, bytes text) {
  const std::span curve{run.found.curve};
  return compare_with_one_rank(training_of(o), text, curve.first(std::min(verified_steps, curve.size())), *run.early_weights);
}

}  // namespace lm
