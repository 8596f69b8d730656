/// The transposed transition as a combiner of its own: backward is the same scan in the other order with the adjoint.
#pragma once

#include <allscan/combiner/concepts.hpp>

namespace allscan {

/// d_in = A^T d_out + d_local. The operands are those of the plain combiner, the matrix of a dense kind untransposed.
/// The adjoint of an adjoint acts as the plain combiner.
template <class C>
struct adjoint {
  static_assert(require_combiner<C>());
  static_assert(has_adjoint<C>,
                "this combiner has no adjoint: give it apply_adjoint(prepared, d_outgoing, d_local), apply with "
                "the transposed transition");
  using scalar = scalar_of<C>;
  using kind = kind_of<C>;
  using transition = transition_of<C>;
  static constexpr bool log_space = is_log_space<C>;

  C plain{};

  [[nodiscard]] ALLSCAN_HOST_DEVICE constexpr value_of<C> apply(const prepared_of<C>& p, const value_of<C>& d_outgoing,
                                                                const value_of<C>& d_local) const {
    return plain.apply_adjoint(p, d_outgoing, d_local);
  }
  [[nodiscard]] ALLSCAN_HOST_DEVICE constexpr value_of<C> apply_adjoint(const prepared_of<C>& p, const value_of<C>& carry,
                                                                        const value_of<C>& local) const {
    return plain.apply(p, carry, local);
  }
  [[nodiscard]] ALLSCAN_HOST_DEVICE constexpr prepared_of<C> prepare(const transition& number) const {
    return allscan::prepare(plain, number);
  }
  [[nodiscard]] ALLSCAN_HOST_DEVICE constexpr bool is_reset(const transition& number) const {
    return allscan::is_reset(plain, number);
  }
  [[nodiscard]] ALLSCAN_HOST_DEVICE constexpr scalar identity() const { return allscan::identity(plain); }

  /// Earlier and later in the order of traversal; numbers are kept untransposed: A_earlier A_later.
  [[nodiscard]] ALLSCAN_HOST_DEVICE constexpr transition compose(const transition& earlier, const transition& later) const
    requires requires { plain.compose(later, earlier); }
  {
    return plain.compose(later, earlier);
  }
};

template <class C>
adjoint(C) -> adjoint<C>;
template <class C>
adjoint(adjoint<C>) -> adjoint<adjoint<C>>;  // without it, deduction would copy

/// True if C applies transposed transitions.
template <class C>
inline constexpr bool is_adjoint = false;
template <class C>
inline constexpr bool is_adjoint<adjoint<C>> = !is_adjoint<C>;

/// The combiner under all adjoints.
template <class C>
[[nodiscard]] constexpr const C& plain(const C& c) {
  return c;
}
template <class C>
[[nodiscard]] constexpr const auto& plain(const adjoint<C>& c) {
  return allscan::plain(c.plain);
}

}  // namespace allscan
