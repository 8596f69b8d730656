/// One rank's side of training and of evaluating the model on a sequence that is split over the ranks.
#pragma once

#include "adam.hpp"
#include "model.hpp"
#include "ranks.hpp"
#include "text.hpp"

#include <allscan/ops/gla_operator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace lm {

/// A rank's part of a sequence: bytes, and the byte that follows each.
struct part {
  bytes inputs;
  bytes targets;
};

/// @param sequence  its last byte is a target only.
[[nodiscard]] inline part part_of(bytes sequence, int ranks, int rank) {
  const allscan::unit_range own =
      allscan::even_part(sequence.size() - 1, static_cast<std::size_t>(ranks), static_cast<std::size_t>(rank));
  return {sequence.subspan(own.begin, own.size()), sequence.subspan(own.begin + 1, own.size())};
}

/// Collective. The operator that all blocks share, over this rank's `tokens`.
template <class T, class Communicator>
[[nodiscard]] allscan::gla_operator<T, Communicator> make_gla(const Communicator& comm, const model_shape& shape,
                                                              std::size_t tokens) {
  const allscan::token_shape own{
      .tokens = tokens, .heads = shape.heads, .key_dim = shape.key_dim, .value_dim = shape.value_dim};
  return {comm, own, {.chunk = 32, .scan = {.algorithm = allscan::algorithm::chain}}};
}

/// The mean of all ranks' values together.
template <class Ranks>
[[nodiscard]] double mean(const Ranks& ranks, const std::vector<double>& values) {
  std::vector<double> sums{std::accumulate(values.begin(), values.end(), 0.0), static_cast<double>(values.size())};
  ranks.sum(std::span{sums});
  return sums[0] / sums[1];
}

struct training_options {
  model_shape shape = {};
  std::size_t tokens = 0;  ///< of the sequence that one step sees
  learning_rate rate = {};
  std::uint64_t seed = 1;
};

template <class T, class Ranks>
class trainer {
  using communicator = std::remove_cvref_t<decltype(std::declval<const Ranks&>().communicator())>;

 public:
  /// Collective. @param text  the same on every rank, longer than options.tokens.
  trainer(const Ranks& ranks, const training_options& options, bytes text)
      : ranks_{ranks},
        options_{options},
        text_{text},
        random_{options.seed},
        parameters_{initial_parameters<T>(options.shape, random_.bits())},
        optimizer_{options.shape},
        gla_{make_gla<T>(ranks.communicator(), options.shape, own_part(text.first(options.tokens + 1)).inputs.size())} {}

  /// One optimizer step on a random part of the text. Collective.
  /// @returns the loss before it: the mean over the sequence, in nats a byte.
  double step() {
    const part own = own_part(random_window(text_, options_.tokens, random_));
    const matrix<T> logits = forward(parameters_, gla_, own.inputs, trace_);
    const double loss = mean(ranks_, cross_entropy(logits, own.targets));

    parameters<T> gradient{options_.shape};
    const T weight = 1 / static_cast<T>(options_.tokens);
    backward(parameters_, gla_, own.inputs, trace_, cross_entropy_backward(logits, own.targets, weight), gradient);
    sum_over_ranks(gradient);
    optimizer_.update(parameters_, gradient, options_.rate.at(steps_++));
    return loss;
  }

  [[nodiscard]] const parameters<T>& weights() const { return parameters_; }
  [[nodiscard]] const allscan::gla_operator<T, communicator>& gla() const { return gla_; }

 private:
  [[nodiscard]] part own_part(bytes sequence) const { return part_of(sequence, ranks_.size(), ranks_.rank()); }

  /// All tensors in one message.
  void sum_over_ranks(parameters<T>& gradient) {
    flat_.clear();
    for (const auto& each : tensors(gradient)) flat_.insert(flat_.end(), each.values->begin(), each.values->end());
    ranks_.sum(std::span{flat_});
    const T* from = flat_.data();
    for (const auto& each : tensors(gradient)) {
      std::copy_n(from, each.values->size(), each.values->data());
      from += each.values->size();
    }
  }

  const Ranks& ranks_;
  training_options options_;
  bytes text_;
  random_numbers random_;
  parameters<T> parameters_;
  adam<T> optimizer_;
  allscan::gla_operator<T, communicator> gla_;
  trace<T> trace_;
  std::vector<T> flat_;
  std::size_t steps_ = 0;
};

/// Losses of this rank's part of `sequence`. Collective where the ranks of `comm` are several.
/// @param comm  the ranks' communicator; a lone rank's severs the carry.
template <class T, class Communicator>
[[nodiscard]] std::vector<double> losses(const Communicator& comm, const parameters<T>& w, const model_shape& shape, part own) {
  auto gla = make_gla<T>(comm, shape, own.inputs.size());
  trace<T> unused;
  return cross_entropy(forward(w, gla, own.inputs, unused), own.targets);
}

}  // namespace lm
