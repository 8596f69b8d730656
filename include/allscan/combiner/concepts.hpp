/// What a combiner is: the type that says what a rank's tokens do to an incoming state.
#pragma once

#include <allscan/core/config.hpp>

#include <concepts>
#include <type_traits>

namespace allscan {

/// The smallest piece of a state that folds alone: an element, a pair of rows (rotation), a column of a head (dense).
enum class unit_form { element, row_pair, column };

/// A row pair's two entries in one column: x in row 2i, y in row 2i + 1.
template <class Scalar>
struct pair {
  Scalar x{};
  Scalar y{};
  friend constexpr bool operator==(const pair&, const pair&) = default;
};

/// One rotation: the natural log of its decay (<= 0, -inf = reset) and its angle in radians.
template <class Scalar>
struct polar {
  Scalar log_decay{};
  Scalar angle{};
  friend constexpr bool operator==(const polar&, const polar&) = default;
};

/// What a combiner of kind none gets in place of a transition number.
struct no_transition {
  friend constexpr bool operator==(const no_transition&, const no_transition&) = default;
};

/// How a transition acts on a state; each kind owns the indexing of states and transitions (see kinds.hpp).
namespace kind {
struct none;         ///< out = carry + local, no transition
struct scalar;       ///< one number a head
struct diagonal;     ///< one number a row
struct elementwise;  ///< one number an element
struct rotation;     ///< one decay and angle a pair of rows
struct dense;        ///< one key_dim x key_dim matrix a head
}  // namespace kind

template <class Kind>
inline constexpr bool is_kind =
    std::same_as<Kind, kind::none> || std::same_as<Kind, kind::scalar> || std::same_as<Kind, kind::diagonal> ||
    std::same_as<Kind, kind::elementwise> || std::same_as<Kind, kind::rotation> || std::same_as<Kind, kind::dense>;

template <class Kind>
inline constexpr unit_form unit_of = unit_form::element;
template <>
inline constexpr unit_form unit_of<kind::rotation> = unit_form::row_pair;
template <>
inline constexpr unit_form unit_of<kind::dense> = unit_form::column;

template <class C>
using scalar_of = typename C::scalar;
template <class C>
using kind_of = typename C::kind;

/// Transition numbers come from the operands log_decay (and angle), not from `transition`: the library's combiners.
template <class C>
inline constexpr bool is_log_space = [] {
  if constexpr (requires { C::log_space; }) return static_cast<bool>(C::log_space);
  return false;
}();

namespace detail {

template <class C>
constexpr auto transition_type() {
  if constexpr (std::same_as<kind_of<C>, kind::none>) {
    return std::type_identity<no_transition>{};
  } else if constexpr (requires { typename C::transition; }) {
    return std::type_identity<typename C::transition>{};
  } else if constexpr (is_log_space<C> && std::same_as<kind_of<C>, kind::rotation>) {
    return std::type_identity<polar<scalar_of<C>>>{};
  } else {
    return std::type_identity<scalar_of<C>>{};
  }
}

}  // namespace detail

/// One transition number; of a dense kind, one matrix entry.
template <class C>
using transition_of = typename decltype(detail::transition_type<C>())::type;

/// What apply() carries: one element, or a pair of them for a rotation.
template <class C>
using value_of = std::conditional_t<std::same_as<kind_of<C>, kind::rotation>, pair<scalar_of<C>>, scalar_of<C>>;

/// The number as apply() wants it, such as the exponential of a log decay. Costly: done once a number, not once an element.
template <class C>
[[nodiscard]] ALLSCAN_HOST_DEVICE constexpr auto prepare(const C& c, const transition_of<C>& number) {
  if constexpr (requires { c.prepare(number); }) {
    return c.prepare(number);
  } else {
    return number;
  }
}

template <class C>
using prepared_of = decltype(allscan::prepare(std::declval<const C&>(), std::declval<const transition_of<C>&>()));

/// True if this number selects the local value, so that nothing of the carry passes, not even NaN.
template <class C>
[[nodiscard]] ALLSCAN_HOST_DEVICE constexpr bool is_reset(const C& c, const transition_of<C>& number) {
  if constexpr (requires { c.is_reset(number); }) {
    return c.is_reset(number);
  } else {
    return false;
  }
}

/// The state before any token.
template <class C>
[[nodiscard]] ALLSCAN_HOST_DEVICE constexpr scalar_of<C> identity(const C& c) {
  if constexpr (requires { c.identity(); }) {
    return c.identity();
  } else {
    return scalar_of<C>{};
  }
}

/// A combiner, in about ten lines:
///
///   using scalar = float;                      arithmetic, at least 4 bytes: states are accumulated in fp32 or wider
///   using kind = allscan::kind::diagonal;
///   scalar apply(prepared, carry, local)       one element; static or const. A rotation takes and returns pair<scalar>.
///                                              Dense: the multiply-accumulate of one product, acc = apply(A_ij, carry_j, acc),
///                                              with acc starting at the local value and j ascending
///   using transition = ...                     optional: one transition number, trivially copyable; default: scalar
///   prepared prepare(transition)               optional, default: the number itself
///   bool is_reset(transition)                  optional: this number selects the local value (not for dense: use the flag)
///   scalar identity()                          optional, default: scalar{}. Dense: the zero of the multiply-accumulate
///   transition compose(earlier, later)         optional: lets transitions be composed (dense composes by apply alone)
///   scalar apply_adjoint(prepared, d_outgoing, d_local)   optional: as apply, with the transposed transition
///                                              (dense: the same multiply-accumulate; the kind swaps the indices)
///   static constexpr unit_form unit            optional: documents the unit, which is the kind's
template <class C>
concept combiner = std::copyable<C> &&
                   requires {
                     typename C::scalar;
                     typename C::kind;
                   } && std::is_arithmetic_v<scalar_of<C>> && (sizeof(scalar_of<C>) >= 4) && is_kind<kind_of<C>> &&
                   std::is_trivially_copyable_v<transition_of<C>> && std::default_initializable<prepared_of<C>> &&
                   requires(const C& c, const prepared_of<C>& prepared, const value_of<C>& value) {
                     { c.apply(prepared, value, value) } -> std::convertible_to<value_of<C>>;
                   };

/// The transition has a transpose: adjoint{c} is a combiner.
template <class C>
concept has_adjoint = combiner<C> && requires(const C& c, const prepared_of<C>& prepared, const value_of<C>& value) {
  { c.apply_adjoint(prepared, value, value) } -> std::convertible_to<value_of<C>>;
};

/// Two transitions compose to one. A dense kind multiplies the matrices with apply(), so entries must be scalars.
template <class C>
concept composable =
    combiner<C> && (std::same_as<kind_of<C>, kind::none> ||
                    (std::same_as<kind_of<C>, kind::dense> && std::same_as<transition_of<C>, scalar_of<C>>) ||
                    (!std::same_as<kind_of<C>, kind::dense> && requires(const C& c, const transition_of<C>& t) {
                      { c.compose(t, t) } -> std::convertible_to<transition_of<C>>;
                    }));

/// True, or a compile error whose sentence names the requirement that C misses.
template <class C>
consteval bool require_combiner() {
  if constexpr (!requires {
                  typename C::scalar;
                  typename C::kind;
                }) {
    static_assert(combiner<C>,
                  "this type is not a combiner: a combiner names its state element `using scalar = float;` and "
                  "its kind `using kind = allscan::kind::diagonal;` and has apply(prepared, carry, local)");
  } else if constexpr (!std::is_arithmetic_v<scalar_of<C>> || sizeof(scalar_of<C>) < 4) {
    static_assert(combiner<C>,
                  "a combiner's scalar is an arithmetic type of at least 4 bytes: states are accumulated in "
                  "fp32 or wider");
  } else if constexpr (!is_kind<kind_of<C>>) {
    static_assert(combiner<C>,
                  "a combiner's kind is one of allscan::kind::none, scalar, diagonal, elementwise, rotation, dense");
  } else if constexpr (!std::is_trivially_copyable_v<transition_of<C>>) {
    static_assert(combiner<C>, "a combiner's transition number is trivially copyable: it travels as bytes");
  } else {
    static_assert(combiner<C>,
                  "a combiner is copyable and has apply(prepared, carry, local), static or const, that takes and "
                  "returns its scalar (a rotation: allscan::pair of its scalar); what prepare() returns has a "
                  "default constructor");
    if constexpr (requires { C::unit; }) {
      static_assert(!std::same_as<kind_of<C>, kind::dense> || C::unit == unit_form::column,
                    "a dense transition mixes the rows of a head: the unit of a dense combiner is a column "
                    "(unit_form::column), neither an element nor a pair of rows");
      static_assert(std::same_as<kind_of<C>, kind::dense> || C::unit == unit_of<kind_of<C>>,
                    "the kind decides the unit: row_pair for a rotation, column for dense, element for the other kinds");
    }
  }
  return true;
}

}  // namespace allscan
