/// e^x without a branch or a table, so that loops over it vectorise; std::exp() does not.
#pragma once

#include <allscan/core/config.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace allscan::detail {

template <class T>
struct exponential_constants;
template <>
struct exponential_constants<float> {
  using bits = std::uint32_t;
  static constexpr int mantissa = 23;
  static constexpr bits bias = 127;
  static constexpr int degree = 7;
  static constexpr float round = 0x1.8p23F;      // x + round - round is x rounded to an integer
  static constexpr float ln2_high = 0x1.63p-1F;  // few enough bits that n * ln2_high is exact
  static constexpr float ln2_low = -0x1.bd0106p-13F;
  static constexpr float lowest = -104;  // below: 0
  static constexpr float highest = 89;   // above: Inf
};
template <>
struct exponential_constants<double> {
  using bits = std::uint64_t;
  static constexpr int mantissa = 52;
  static constexpr bits bias = 1023;
  static constexpr int degree = 13;
  static constexpr double round = 0x1.8p52;
  static constexpr double ln2_high = 0x1.62e42fee00000p-1;
  static constexpr double ln2_low = 0x1.a39ef35793c76p-33;
  static constexpr double lowest = -746;
  static constexpr double highest = 710;
};

/// 1/k!, the coefficients of the Taylor polynomial.
template <class T>
inline constexpr auto inverse_factorials = [] {
  std::array<T, exponential_constants<T>::degree + 1> c{};
  long double factorial = 1;
  for (std::size_t k = 0; k < c.size(); ++k) {
    c[k] = static_cast<T>(1 / factorial);
    factorial *= static_cast<long double>(k + 1);
  }
  return c;
}();

/// The polynomial from coefficient K on, by Horner's rule; a recursion, so that no inner loop hinders vectorisation.
template <class T, std::size_t K = 0>
constexpr T taylor(T r) {
  if constexpr (K + 1 == inverse_factorials<T>.size()) {
    return inverse_factorials<T>[K];
  } else {
    return taylor<T, K + 1>(r) * r + inverse_factorials<T>[K];
  }
}

/// e^x to within about one unit in the last place, also for denormal results; exactly 1 at 0, 0 at -Inf, NaN at NaN.
/// x = n ln 2 + r with |r| <= ln 2 / 2; e^r by its Taylor polynomial; 2^n in two halves, so that the result rounds once.
template <class T>
[[nodiscard]] ALLSCAN_HOST_DEVICE inline T exponential(T x) {
#if !defined(__CUDA_ARCH__)
  if constexpr (std::same_as<T, float> || std::same_as<T, double>) {
    using k = exponential_constants<T>;
    using bits = typename k::bits;
    // clamped by masks: compilers turn a conditional with constant arms into a branch, and then do not vectorise
    const bits below = bits{0} - static_cast<bits>(x < k::lowest);
    const bits above = bits{0} - static_cast<bits>(x > k::highest);
    const T y = std::bit_cast<T>((std::bit_cast<bits>(x) & ~(below | above)) | (std::bit_cast<bits>(k::lowest) & below) |
                                 (std::bit_cast<bits>(k::highest) & above));
    const T n = (y * T(1.4426950408889634) + k::round) - k::round;
    const T half = n * T(0.5) + k::round;
    const T rest = (n - (half - k::round)) + k::round;
    const T r = (y - n * k::ln2_high) - n * k::ln2_low;
    // the low bits of round + i are those of i: shifted up, with the bias added, they are 2^i
    constexpr bits one = k::bias << k::mantissa;
    const T first = std::bit_cast<T>((std::bit_cast<bits>(half) << k::mantissa) + one);
    const T second = std::bit_cast<T>((std::bit_cast<bits>(rest) << k::mantissa) + one);
    return taylor(r) * first * second;
  }
#endif
  using std::exp;
  return static_cast<T>(exp(x));
}

}  // namespace allscan::detail
