/// The combiners of a run: the library's over float, which is timed, and an exact one to check the plans with.
#pragma once

#include <allscan/combiner/concepts.hpp>
#include <allscan/combiner/decay.hpp>

#include <cstdint>
#include <type_traits>

namespace scan_perf {

template <class Kind>
struct timed_combiner {
  using type = allscan::decay<Kind, float>;
};
template <>
struct timed_combiner<allscan::kind::none> {
  using type = allscan::accumulate<float>;
};
template <>
struct timed_combiner<allscan::kind::rotation> {
  using type = allscan::rotary<float>;
};
template <>
struct timed_combiner<allscan::kind::dense> {
  using type = allscan::dense_transition<float>;
};

/// a * c + l modulo 2^32: exact, and different for every other order or set of summaries. A rotation multiplies Gaussian
/// integers.
template <class Kind>
struct modular {
  using scalar = std::uint32_t;
  using kind = Kind;
  using pair = allscan::pair<scalar>;
  using transition = std::conditional_t<std::is_same_v<Kind, allscan::kind::rotation>, pair, scalar>;

  static scalar apply(scalar a, scalar carry, scalar local) { return a * carry + local; }
  static scalar apply(allscan::no_transition, scalar carry, scalar local) { return carry + local; }
  static pair apply(const pair& a, const pair& carry, const pair& local) {
    return {a.x * carry.x - a.y * carry.y + local.x, a.y * carry.x + a.x * carry.y + local.y};
  }
};

}  // namespace scan_perf
