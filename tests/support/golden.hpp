/// The golden cases of gated linear attention in tests/golden: float64 results of token-by-token recurrences, with gradients by
/// automatic differentiation of sum(o * do) + sum(ht * dht).
#pragma once

#include "support/npy.hpp"

#include <allscan/core/shape.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace allscan::test {

/// Every case: no decay, a constant one per head, scalar and diagonal gates.
inline const std::vector<std::string>& golden_names() {
  static const std::vector<std::string> names = {
      "linear_attn_plain", "retention_plain", "simple_gla_plain", "simple_gla_slow", "simple_gla_spiky", "simple_gla_strong",
      "simple_gla_zero",   "gla_plain",       "gla_slow",         "gla_spiky",       "gla_strong",       "gla_zero"};
  return names;
}

class golden_case {
 public:
  explicit golden_case(const std::string& name) : name_{name}, folder_{ALLSCAN_SOURCE_DIR "/tests/golden/" + name} {
    std::ifstream file{folder_ + "/meta.json"};
    if (!file) throw std::runtime_error(folder_ + "/meta.json: cannot be opened");
    const auto meta = nlohmann::json::parse(file);
    model_ = meta.at("model").get<std::string>();
    shape_ = {.tokens = meta.at("T"), .heads = meta.at("H"), .key_dim = meta.at("K"), .value_dim = meta.at("V")};
    scale_ = meta.at("scale");
    cuts_ = meta.at("cuts").get<std::vector<std::size_t>>();
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  /// One sequence: batch is 1.
  [[nodiscard]] const token_shape& shape() const { return shape_; }
  [[nodiscard]] double scale() const { return scale_; }
  /// Tokens before which the sequence may be cut, ascending; 0 may be among them.
  [[nodiscard]] const std::vector<std::size_t>& cuts() const { return cuts_; }
  /// A gate per key dimension; else one per head.
  [[nodiscard]] bool diagonal_gate() const { return model_ == "gla"; }

  [[nodiscard]] bool has(const std::string& tensor) const { return std::filesystem::exists(path(tensor)); }
  /// A tensor of the case: q, k, v, o, do, dq, dk, dv, dg (not of linear_attn and retention), h0, ht, dh0, dht, carry_<cut>,
  /// dcarry_<cut>.
  [[nodiscard]] std::vector<double> tensor(const std::string& tensor) const { return read_npy(path(tensor)).values; }

  /// [tokens, heads] or [tokens, heads, key_dim]: zeros for linear_attn, the head's constant for retention.
  [[nodiscard]] std::vector<double> log_decay() const {
    if (model_ == "simple_gla" || model_ == "gla") return tensor("g");
    std::vector<double> gates(shape_.rows());
    if (model_ == "retention") {
      const std::vector<double> constant = tensor("log_gamma");
      for (std::size_t i = 0; i < gates.size(); ++i) gates[i] = constant[i % shape_.heads];
    } else if (model_ != "linear_attn") {
      throw std::runtime_error(folder_ + ": no gated linear attention");
    }
    return gates;
  }

 private:
  [[nodiscard]] std::string path(const std::string& tensor) const { return folder_ + "/" + tensor + ".npy"; }

  std::string name_;
  std::string folder_;
  std::string model_;
  token_shape shape_;
  double scale_ = 1;
  std::vector<std::size_t> cuts_;
};

}  // namespace allscan::test
