/// Decay of a running state, accurate for weak gates over very many tokens.
#pragma once

#include <cmath>

namespace allscan::kernel {

/// e^g = base + rest, unevaluated. Rounding e^g itself to T is an error of half an ulp of 1 in every step, always the same
/// one for a constant gate: relative to a log decay of -1e-4 that is 3e-4 in float. 1 + expm1(g) has no such bias.
template <class T>
struct split_decay {
  T base;
  T rest;

  /// base * x + (rest * x + addend)
  [[nodiscard]] T apply(T x, T addend) const { return base * x + (rest * x + addend); }
  [[nodiscard]] T value() const { return base + rest; }
};

/// @param g  natural log, <= 0. A strong decay is one product: next to a small e^g, 1 + expm1(g) would cancel.
template <class T, class Log>
[[nodiscard]] split_decay<T> split_exp(Log g) {
  if (g > Log(-0.5)) return {T(1), static_cast<T>(std::expm1(g))};
  return {static_cast<T>(std::exp(g)), T(0)};
}

}  // namespace allscan::kernel
