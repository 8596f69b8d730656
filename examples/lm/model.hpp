/// A byte-level language model: embedding, blocks of [token mixer, feed-forward], readout. One rank's part of a sequence.
#pragma once

#include "feed_forward.hpp"
#include "layers.hpp"
#include "mixer.hpp"
#include "parameters.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace lm {

/// What the forward pass leaves to the backward pass.
template <class T>
struct trace {
  std::vector<mixer_trace<T>> mixers;
  std::vector<feed_forward_trace<T>> feed_forwards;
  matrix<T> x, normed;
};

/// @returns the logits of the byte after each byte of `text`. Collective: ranks pass their parts of one sequence.
/// @param gla  an allscan operator for text.size() tokens; all blocks share it.
template <class T, class Gla>
[[nodiscard]] matrix<T> forward(const parameters<T>& w, Gla& gla, bytes text, trace<T>& t) {
  t.mixers.resize(w.blocks.size());
  t.feed_forwards.resize(w.blocks.size());
  matrix<T> x = embed(w.embedding, text);
  for (std::size_t i = 0; i < w.blocks.size(); ++i) {
    x = mix(w.blocks[i], gla, std::move(x), t.mixers[i]);
    x = feed_forward(w.blocks[i], std::move(x), t.feed_forwards[i]);
  }
  t.x = std::move(x);
  t.normed = rms_norm(t.x, w.final_norm);
  return product(t.normed, w.readout);
}

/// Adds this rank's part of the gradients to `d_w`: their sum over the ranks is the whole. Collective, after forward().
template <class T, class Gla>
void backward(const parameters<T>& w, Gla& gla, bytes text, const trace<T>& t, const matrix<T>& d_logits, parameters<T>& d_w) {
  matrix<T> d_normed{t.normed.rows(), t.normed.cols()};
  linear_backward(t.normed, w.readout, d_logits, d_normed, d_w.readout);
  matrix<T> d_x{t.x.rows(), t.x.cols()};
  rms_norm_backward(t.x, w.final_norm, d_normed, d_x, d_w.final_norm);
  for (std::size_t i = w.blocks.size(); i-- > 0;) {
    d_x = feed_forward_backward(w.blocks[i], t.feed_forwards[i], std::move(d_x), d_w.blocks[i]);
    d_x = mix_backward(w.blocks[i], gla, t.mixers[i], std::move(d_x), d_w.blocks[i]);
  }
  embed_backward(text, d_x, d_w.embedding);
}

}  // namespace lm
