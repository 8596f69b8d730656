/// Pairs of tokens of one chunk, each pair j < i exactly once, with a decay that splits into a query's and a key's factor.
///
///   half 1:   k q  k q  k q  k q      Aligned blocks of 2 * half tokens: queries of a block's second half meet keys of its
///   half 2:   k k  q q  k k  q q      first. With the middle m, j < m <= i, the decay of the pair is
///   half 4:   k k  k k  q q  q q
///                                       e^{g_{j+1} + ... + g_i} = e^{g_{j+1} + ... + g_{m-1}} * e^{g_m + ... + g_i}
///
/// Both factors are in [0, 1] for any gates, are made of gates up to i only, and one product of matrices serves a block.
#pragma once

#include <allscan/kernel/cpu/chunk_decay.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace allscan::cpu {

/// One block: keys [first, middle), queries [middle, end).
struct half_block {
  std::size_t first;
  std::size_t middle;
  std::size_t end;
};

template <class Gate, class T>
class halves {
 public:
  halves(std::size_t key_dim, std::size_t max_tokens)
      : width_{kernel::gate_width<Gate>(key_dim)},
        since_(max_tokens * width_),
        until_(max_tokens * width_),
        sum_(width_),
        total_(width_) {}

  /// Calls f(half_block) for every block of the chunk, from the smallest half to the largest; since() and until() are the
  /// block's during the call.
  template <class Function>
  void for_each_block(const chunk_decay<Gate, T>& decay, Function&& f) {
    const std::size_t tokens = decay.tokens();
    std::copy_n(decay.step(0), tokens * width_, since_.data());
    std::fill_n(until_.data(), tokens * width_, T(1));
    for (std::size_t half = 1; half < tokens; half *= 2) {
      for (std::size_t middle = half; middle < tokens; middle += 2 * half) {
        f(half_block{middle - half, middle, std::min(middle + half, tokens)});
      }
      if (2 * half < tokens) widen(decay, half);
    }
  }

  /// The gates from the middle to query i, inclusive.
  [[nodiscard]] const T* since(std::size_t i) const { return since_.data() + i * width_; }
  /// The gates after key j up to the middle, exclusive.
  [[nodiscard]] const T* until(std::size_t j) const { return until_.data() + j * width_; }

 private:
  /// From halves of `half` tokens, each with its own decays, to halves of twice that.
  void widen(const chunk_decay<Gate, T>& decay, std::size_t half) {
    for (std::size_t middle = half; middle < decay.tokens(); middle += 2 * half) {
      if (middle + half < decay.tokens()) {  // else nothing later reads these keys
        total(decay, middle, half);
        for (std::size_t j = middle - half; j < middle; ++j) multiply(until_.data() + j * width_);
      }
      total(decay, middle - half, half);
      for (std::size_t i = middle; i < std::min(middle + half, decay.tokens()); ++i) multiply(since_.data() + i * width_);
    }
  }

  /// total_ = e^{gates of [first, first + half)}
  void total(const chunk_decay<Gate, T>& decay, std::size_t first, std::size_t half) {
    constexpr std::size_t tile = chunk_decay<Gate, T>::tile;
    if (half < tile) {
      std::copy_n(since(first + half - 1), width_, total_.data());
      return;
    }
    std::fill(sum_.begin(), sum_.end(), 0.0);
    for (std::size_t index = first / tile; index < (first + half) / tile; ++index) decay.add_tile(index, sum_.data());
    exponentials(width_, sum_.data(), total_.data());
  }

  void multiply(T* row) const { decay_row<kind::diagonal>(width_, total_.data(), row, row); }

  std::size_t width_;
  std::vector<T> since_;     // [tokens, width]: the gates of the token's own half up to it, inclusive
  std::vector<T> until_;     // [tokens, width]: the gates of the token's own half after it
  std::vector<double> sum_;  // [width]
  std::vector<T> total_;     // [width]
};

}  // namespace allscan::cpu
