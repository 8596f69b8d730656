/// Random numbers that are the same with every compiler and on every rank.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace lm {

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_{seed} {}

  [[nodiscard]] std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  /// In [0, 1).
  [[nodiscard]] double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  /// Mean 0, variance 1: the Box-Muller transform.
  [[nodiscard]] double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t state_;
};

}  // namespace lm
