/// The library's combiners. Decays are natural logs, <= 0, so that products over ranks are sums and cannot underflow.
#pragma once

#include <allscan/combiner/concepts.hpp>
#include <allscan/combiner/exponential.hpp>
#include <allscan/combiner/kinds.hpp>

#include <cmath>
#include <concepts>
#include <limits>

namespace allscan {

namespace detail {

template <class T>
inline constexpr T lowest_finite = std::numeric_limits<T>::lowest();  // a constant, since device code cannot call lowest()

/// -inf, and only that: a decay whose exponential underflows to 0 is still multiplied, so that 0 * Inf stays NaN.
template <class T>
[[nodiscard]] ALLSCAN_HOST_DEVICE constexpr bool is_minus_infinity(T x) {
  return x < lowest_finite<T>;
}

/// The log of a product of decays. A reset on either side stays one, whatever the other holds.
template <class T>
[[nodiscard]] ALLSCAN_HOST_DEVICE constexpr T add_logs(T earlier, T later) {
  if (is_minus_infinity(earlier)) return earlier;
  if (is_minus_infinity(later)) return later;
  return earlier + later;
}

}  // namespace detail

/// out = carry + local.
template <std::floating_point T>
struct accumulate {
  using scalar = T;
  using kind = allscan::kind::none;
  static constexpr bool log_space = true;

  ALLSCAN_HOST_DEVICE static constexpr T apply(no_transition, T carry, T local) { return carry + local; }
  ALLSCAN_HOST_DEVICE static constexpr T apply_adjoint(no_transition, T d_outgoing, T d_local) { return d_outgoing + d_local; }
};

/// out = e^log_decay carry + local; Kind is scalar, diagonal or elementwise.
template <class Kind, std::floating_point T>
struct decay {
  static_assert(std::same_as<Kind, kind::scalar> || std::same_as<Kind, kind::diagonal> || std::same_as<Kind, kind::elementwise>,
                "decay suits the kinds scalar, diagonal and elementwise; see accumulate, rotary and dense_transition");
  using scalar = T;
  using kind = Kind;
  static constexpr bool log_space = true;

  ALLSCAN_HOST_DEVICE static T prepare(T log_decay) { return detail::exponential(log_decay); }
  ALLSCAN_HOST_DEVICE static constexpr T apply(T factor, T carry, T local) { return factor * carry + local; }
  ALLSCAN_HOST_DEVICE static constexpr T apply_adjoint(T factor, T d_outgoing, T d_local) {
    return factor * d_outgoing + d_local;
  }
  ALLSCAN_HOST_DEVICE static constexpr bool is_reset(T log_decay) { return detail::is_minus_infinity(log_decay); }
  ALLSCAN_HOST_DEVICE static constexpr T compose(T earlier, T later) { return detail::add_logs(earlier, later); }
};

/// x' = e^g (x cos a - y sin a) + local.x, y' = e^g (x sin a + y cos a) + local.y; g and a add up over tokens and ranks.
template <std::floating_point T>
struct rotary {
  using scalar = T;
  using kind = allscan::kind::rotation;
  static constexpr bool log_space = true;

  ALLSCAN_HOST_DEVICE static pair<T> prepare(const polar<T>& p) {
    using std::cos;
    using std::sin;
    const T factor = detail::exponential(p.log_decay);
    return {factor * cos(p.angle), factor * sin(p.angle)};
  }
  ALLSCAN_HOST_DEVICE static constexpr pair<T> apply(const pair<T>& r, const pair<T>& carry, const pair<T>& local) {
    return {(r.x * carry.x - r.y * carry.y) + local.x, (r.y * carry.x + r.x * carry.y) + local.y};
  }
  ALLSCAN_HOST_DEVICE static constexpr pair<T> apply_adjoint(const pair<T>& r, const pair<T>& d_outgoing,
                                                             const pair<T>& d_local) {
    return apply({r.x, -r.y}, d_outgoing, d_local);
  }
  ALLSCAN_HOST_DEVICE static constexpr bool is_reset(const polar<T>& p) { return detail::is_minus_infinity(p.log_decay); }
  ALLSCAN_HOST_DEVICE static constexpr polar<T> compose(const polar<T>& earlier, const polar<T>& later) {
    return {detail::add_logs(earlier.log_decay, later.log_decay), earlier.angle + later.angle};
  }
};

/// out = e^log_decay A carry + local, the decay one number a head (left out: 0), A any matrix.
template <std::floating_point T>
struct dense_transition {
  using scalar = T;
  using kind = allscan::kind::dense;
  static constexpr bool log_space = true;

  /// Of the log decay; the kind multiplies it into the matrix.
  ALLSCAN_HOST_DEVICE static T prepare(T log_decay) { return detail::exponential(log_decay); }
  ALLSCAN_HOST_DEVICE static constexpr T apply(T a, T carry, T sum) { return a * carry + sum; }
  ALLSCAN_HOST_DEVICE static constexpr T apply_adjoint(T a, T d_outgoing, T sum) { return a * d_outgoing + sum; }
  ALLSCAN_HOST_DEVICE static constexpr bool is_reset(T log_decay) { return detail::is_minus_infinity(log_decay); }
  ALLSCAN_HOST_DEVICE static constexpr T compose(T earlier, T later) { return detail::add_logs(earlier, later); }
};

}  // namespace allscan
