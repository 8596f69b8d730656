/// Combiners whose arithmetic is exact and order-sensitive: any reassociation, lost or doubled fold gives other numbers.
#pragma once

#include <allscan/combiner/kinds.hpp>

#include <cstdint>

namespace allscan::test {

/// carry + local mod 2^32: checks coverage only.
struct exact_accumulate {
  using scalar = std::uint32_t;
  using kind = allscan::kind::none;
  static constexpr scalar apply(no_transition, scalar carry, scalar local) { return carry + local; }
  static constexpr scalar apply_adjoint(no_transition, scalar d_outgoing, scalar d_local) { return d_outgoing + d_local; }
};

/// a carry + local mod 2^32; Kind is scalar, diagonal or elementwise. The number 0 resets.
template <class Kind>
struct exact_affine {
  using scalar = std::uint32_t;
  using kind = Kind;
  static constexpr scalar apply(scalar a, scalar carry, scalar local) { return a * carry + local; }
  static constexpr scalar apply_adjoint(scalar a, scalar d_outgoing, scalar d_local) { return a * d_outgoing + d_local; }
  static constexpr bool is_reset(scalar a) { return a == 0; }
  static constexpr scalar compose(scalar earlier, scalar later) { return later * earlier; }
};

/// Gaussian integers mod 2^32: (x + i y) is multiplied by one. The number 0 resets.
struct exact_rotation {
  using scalar = std::uint32_t;
  using kind = allscan::kind::rotation;
  using transition = pair<scalar>;
  using value = pair<scalar>;
  static constexpr value apply(transition r, value carry, value local) {
    return {r.x * carry.x - r.y * carry.y + local.x, r.y * carry.x + r.x * carry.y + local.y};
  }
  static constexpr value apply_adjoint(transition r, value d_outgoing, value d_local) {
    return apply({r.x, 0 - r.y}, d_outgoing, d_local);
  }
  static constexpr bool is_reset(transition r) { return r == transition{}; }
  static constexpr transition compose(transition earlier, transition later) { return apply(later, earlier, {}); }
};

/// Matrices mod 2^32.
struct exact_dense {
  using scalar = std::uint32_t;
  using kind = allscan::kind::dense;
  static constexpr scalar apply(scalar a, scalar carry, scalar sum) { return a * carry + sum; }
  static constexpr scalar apply_adjoint(scalar a, scalar d_outgoing, scalar sum) { return a * d_outgoing + sum; }
};

}  // namespace allscan::test
