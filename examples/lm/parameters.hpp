/// What the model learns.
#pragma once

#include "layers.hpp"
#include "matrix.hpp"
#include "random.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace lm {

struct model_shape {
  std::size_t width = 64;  ///< numbers a token is represented by
  std::size_t heads = 4;
  std::size_t key_dim = 16;    ///< of a head
  std::size_t value_dim = 16;  ///< of a head
  std::size_t hidden = 128;    ///< width of the feed-forward layer
  std::size_t blocks = 2;
  std::size_t symbols = 256;

  [[nodiscard]] std::size_t keys() const { return heads * key_dim; }
  [[nodiscard]] std::size_t values() const { return heads * value_dim; }
};

/// Matrices are [inputs, outputs]; norms and biases are rows.
template <class T>
struct block_parameters {
  matrix<T> mixer_norm;
  matrix<T> query, key, value;
  matrix<T> decay, decay_bias;
  matrix<T> head_norm, output_gate, output;
  matrix<T> feed_forward_norm;
  matrix<T> feed_forward_gate, feed_forward_up, feed_forward_down;
};

template <class T>
struct parameters {
  matrix<T> embedding;
  std::vector<block_parameters<T>> blocks;
  matrix<T> final_norm;
  matrix<T> readout;

  /// Zeros: the start of a gradient.
  explicit parameters(const model_shape& s)
      : embedding{s.symbols, s.width}, blocks(s.blocks), final_norm{1, s.width}, readout{s.width, s.symbols} {
    for (block_parameters<T>& b : blocks) {
      b = {.mixer_norm = {1, s.width},
           .query = {s.width, s.keys()},
           .key = {s.width, s.keys()},
           .value = {s.width, s.values()},
           .decay = {s.width, s.keys()},
           .decay_bias = {1, s.keys()},
           .head_norm = {1, s.value_dim},
           .output_gate = {s.width, s.values()},
           .output = {s.values(), s.width},
           .feed_forward_norm = {1, s.width},
           .feed_forward_gate = {s.width, s.hidden},
           .feed_forward_up = {s.width, s.hidden},
           .feed_forward_down = {s.hidden, s.width}};
    }
  }
};

template <class Matrix>
struct named_tensor {
  std::string name;
  Matrix* values;
};

/// All tensors in one fixed order. @tparam Parameters  parameters<T>, const or not.
template <class Parameters>
[[nodiscard]] auto tensors(Parameters& p) {
  using tensor = named_tensor<std::remove_reference_t<decltype((p.embedding))>>;
  std::vector<tensor> all{{"embedding", &p.embedding}};
  for (std::size_t i = 0; i < p.blocks.size(); ++i) {
    auto& b = p.blocks[i];
    const std::string block = "block " + std::to_string(i) + " ";
    for (const tensor& each : {tensor{"mixer norm", &b.mixer_norm},
                               {"query", &b.query},
                               {"key", &b.key},
                               {"value", &b.value},
                               {"decay", &b.decay},
                               {"decay bias", &b.decay_bias},
                               {"head norm", &b.head_norm},
                               {"output gate", &b.output_gate},
                               {"output", &b.output},
                               {"feed-forward norm", &b.feed_forward_norm},
                               {"feed-forward gate", &b.feed_forward_gate},
                               {"feed-forward up", &b.feed_forward_up},
                               {"feed-forward down", &b.feed_forward_down}}) {
      all.push_back({block + each.name, each.values});
    }
  }
  all.push_back({"final norm", &p.final_norm});
  all.push_back({"readout", &p.readout});
  return all;
}

/// Norms are 1, the embedding is normal with variance 1, other matrices with variance 1 / inputs. The decay biases give the
/// keys of each head memories of 1 to 256 tokens, a constant factor apart: log decays of -1 / tokens.
template <class T>
[[nodiscard]] parameters<T> initial_parameters(const model_shape& shape, std::uint64_t seed) {
  parameters<T> p{shape};
  random_numbers random{seed};
  for (const auto& each : tensors(p)) {
    const bool is_row = each.values->rows() == 1;
    const double spread = each.values == &p.embedding ? 1 : 1 / std::sqrt(static_cast<double>(each.values->rows()));
    for (T& x : *each.values) x = static_cast<T>(is_row ? 1 : spread * random.normal());
  }
  for (block_parameters<T>& b : p.blocks) {
    for (std::size_t i = 0; i < shape.keys(); ++i) {
      const auto place = static_cast<double>(i % shape.key_dim);
      const double memory = std::pow(256, place / static_cast<double>(std::max<std::size_t>(shape.key_dim - 1, 1)));
      b.decay_bias.data()[i] = static_cast<T>(decay_gate_inverse(-1 / memory));
    }
  }
  return p;
}

}  // namespace lm
