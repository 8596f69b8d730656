/// The decays of one chunk as a whole: of what came before it, and of what it leaves behind.
#pragma once

#include <allscan/combiner/exponential.hpp>
#include <allscan/kernel/split_decay.hpp>
#include <allscan/kernel/tokens.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace allscan::cpu {

/// to = factor * from, one row of key_dim numbers; `factor` has gate_width numbers. `to` may be `from`.
template <class Gate, class T>
void decay_row(std::size_t key_dim, const T* factor, const T* from, T* to) {
  if constexpr (std::is_same_v<Gate, kind::scalar>) {
    const T f = factor[0];
    for (std::size_t d = 0; d < key_dim; ++d) to[d] = f * from[d];
  } else {
    for (std::size_t d = 0; d < key_dim; ++d) to[d] = factor[d] * from[d];
  }
}

/// to = e^{log}, log <= 0. `to` may be `log`.
template <class Log, class T>
void exponentials(std::size_t n, const Log* log, T* to) {
  for (std::size_t i = 0; i < n; ++i) to[i] = allscan::detail::exponential(static_cast<T>(log[i]));
}

/// Exponents are of sums of gates, all <= 0: no difference of sums, no division, no overflow for any gate, and underflow to 0
/// is the right answer. Over up to a tile of tokens decays are products; longer sums stay logarithms, in double: products
/// drift.
template <class Gate, class T>
class chunk_decay {
 public:
  static constexpr std::size_t tile = 16;

  chunk_decay(std::size_t key_dim, std::size_t max_tokens)
      : key_dim_{key_dim},
        width_{kernel::gate_width<Gate>(key_dim)},
        steps_(max_tokens * width_),
        tile_sums_((max_tokens + tile - 1) / tile * width_),
        sum_(width_),
        factor_(width_) {}

  /// Takes the gates of the chunk's tokens.
  void assign(kernel::rows<const T> log_decay, std::size_t tokens) {
    tokens_ = tokens;
    for (std::size_t i = 0; i < tokens; ++i) std::copy_n(log_decay[i], width_, steps_.data() + i * width_);
    std::fill_n(tile_sums_.data(), tiles() * width_, 0.0);
    for (std::size_t i = 0; i < tokens; ++i) {
      const T* g = steps_.data() + i * width_;
      double* sum = tile_sums_.data() + i / tile * width_;
      for (std::size_t d = 0; d < width_; ++d) sum[d] += static_cast<double>(g[d]);
    }
    exponentials(tokens * width_, steps_.data(), steps_.data());
  }

  [[nodiscard]] std::size_t tokens() const { return tokens_; }
  [[nodiscard]] std::size_t tiles() const { return (tokens_ + tile - 1) / tile; }

  /// e^{g_i}
  [[nodiscard]] const T* step(std::size_t i) const { return steps_.data() + i * width_; }

  /// sum[d] += the gates of tile `index`
  void add_tile(std::size_t index, double* sum) const {
    for (std::size_t d = 0; d < width_; ++d) sum[d] += tile_sums_[index * width_ + d];
  }

  /// sum[d] += the gates of the chunk
  void add_all(double* sum) const {
    for (std::size_t index = 0; index < tiles(); ++index) add_tile(index, sum);
  }

  /// to_i = scale * from_i * e^{gates of the chunk up to i, inclusive}: what a query sees of the state before the chunk.
  void since_start(kernel::rows<const T> from, T scale, T* to) {
    std::fill(sum_.begin(), sum_.end(), 0.0);
    for (std::size_t index = 0; index < tiles(); ++index) {
      start_factor(scale);
      for (std::size_t i = index * tile; i < std::min((index + 1) * tile, tokens_); ++i) {
        decay_row<kind::diagonal>(width_, step(i), factor_.data(), factor_.data());
        decay_row<Gate>(key_dim_, factor_.data(), from[i], to + i * key_dim_);
      }
      add_tile(index, sum_.data());
    }
  }

  /// to_i = from_i * e^{gates of the chunk after i}: what the state after the chunk keeps of a key.
  void until_end(kernel::rows<const T> from, T* to) {
    std::fill(sum_.begin(), sum_.end(), 0.0);
    for (std::size_t index = tiles(); index-- > 0;) {
      start_factor(T(1));
      for (std::size_t i = std::min((index + 1) * tile, tokens_); i-- > index * tile;) {
        decay_row<Gate>(key_dim_, factor_.data(), from[i], to + i * key_dim_);
        decay_row<kind::diagonal>(width_, step(i), factor_.data(), factor_.data());
      }
      add_tile(index, sum_.data());
    }
  }

  /// to[d] = e^{all gates of the chunk}
  void total(T* to) {
    std::fill(sum_.begin(), sum_.end(), 0.0);
    add_all(sum_.data());
    start_factor(T(1));
    std::copy_n(factor_.data(), width_, to);
  }

  /// state = diag(e^{all gates of the chunk}) state; state [key_dim, value_dim]
  void decay_state(std::size_t value_dim, T* state) {
    std::fill(sum_.begin(), sum_.end(), 0.0);
    add_all(sum_.data());
    kernel::split_decay<T> decay{};
    for (std::size_t d = 0; d < key_dim_; ++d) {
      if (d < width_) decay = kernel::split_exp<T>(sum_[d]);
      T* row = state + d * value_dim;
      for (std::size_t j = 0; j < value_dim; ++j) row[j] = decay.apply(row[j], T(0));
    }
  }

 private:
  /// factor_ = scale * e^{sum_}
  void start_factor(T scale) {
    exponentials(width_, sum_.data(), factor_.data());
    for (T& f : factor_) f *= scale;
  }

  std::size_t key_dim_;
  std::size_t width_;
  std::size_t tokens_ = 0;
  std::vector<T> steps_;           // [tokens, width]
  std::vector<double> tile_sums_;  // [tiles, width]
  std::vector<double> sum_;        // [width]
  std::vector<T> factor_;          // [width]
};

}  // namespace allscan::cpu
