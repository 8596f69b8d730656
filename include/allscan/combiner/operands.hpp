/// What a caller passes for one rank's summary.
#pragma once

#include <allscan/combiner/concepts.hpp>
#include <allscan/combiner/transition.hpp>
#include <allscan/core/shape.hpp>
#include <allscan/core/view.hpp>

#include <cstdint>
#include <type_traits>

namespace allscan {

namespace detail {

/// Stands where a combiner takes no operand; giving one is a compile error that says what the combiner takes.
template <class C>
struct refused_operand {
  constexpr refused_operand() = default;
  template <class Operand>
    requires(!std::same_as<std::remove_cvref_t<Operand>, refused_operand>)
  constexpr refused_operand(Operand&&) {
    using Kind = kind_of<C>;
    constexpr bool wrong = sizeof(Operand) == 0;  // false, but known only now
    if constexpr (std::same_as<Kind, kind::none>) {
      static_assert(wrong, "a combiner of kind none takes {state}: it has no transition");
    } else if constexpr (!is_log_space<C>) {
      static_assert(wrong,
                    "a custom combiner takes {state, transition}: log_decay and angle belong to the library's combiners");
    } else if constexpr (std::same_as<Kind, kind::rotation>) {
      static_assert(wrong, "a rotation takes {state, log_decay, angle}: `transition` belongs to dense and custom combiners");
    } else if constexpr (std::same_as<Kind, kind::dense>) {
      static_assert(wrong, "a dense transition takes {state, log_decay, transition}: `angle` belongs to rotations");
    } else {
      static_assert(wrong,
                    "a scalar, diagonal or elementwise transition takes {state, log_decay}: `angle` belongs to rotations, "
                    "`transition` to dense and custom combiners");
    }
  }
};

template <class C>
inline constexpr bool takes_log_decay = is_log_space<C> && !std::same_as<kind_of<C>, kind::none>;
template <class C>
inline constexpr bool takes_angle = is_log_space<C> && std::same_as<kind_of<C>, kind::rotation>;
template <class C>
inline constexpr bool takes_transition =
    !std::same_as<kind_of<C>, kind::none> && (!is_log_space<C> || std::same_as<kind_of<C>, kind::dense>);

template <class C, bool Taken, class T>
using operand = std::conditional_t<Taken, tensor_view<T>, refused_operand<C>>;

}  // namespace detail

/// One rank's operands. The kind decides which: {state} · {state, log_decay} · rotation {state, log_decay, angle} · dense
/// {state, transition, and log_decay if wanted} · custom {state, transition}; layouts as in transition_view. `reset` suits
/// every kind.
template <class C>
struct scan_operands {
  static_assert(require_combiner<C>());
  using scalar = scalar_of<C>;

  tensor_view<const scalar> state = {};                                         ///< S, from a zero initial state
  detail::operand<C, detail::takes_log_decay<C>, const scalar> log_decay = {};  ///< natural log, summed over tokens, <= 0
  detail::operand<C, detail::takes_angle<C>, const scalar> angle = {};          ///< radians
  detail::operand<C, detail::takes_transition<C>, const transition_of<C>> transition = {};  ///< dense: A, untransposed
  tensor_view<const std::uint8_t> reset = {};                                               ///< [batch], non-zero = reset
  tensor_view<const scalar> initial_carry = {};                                             ///< the direction's first rank only
};

/// Checked operands, as the folds read them.
template <class C>
struct resolved_operands {
  const scalar_of<C>* state = nullptr;
  transition_view<C> transition = {};
  const scalar_of<C>* initial_carry = nullptr;  ///< null: none given
};

/// The transition alone; operands.state is not looked at.
/// @throws invalid_argument if an operand that the kind needs is missing or a range has another size than the shape asks for.
template <class C>
[[nodiscard]] transition_view<C> resolve_transition(const state_shape& shape, const scan_operands<C>& operands) {
  using Kind = kind_of<C>;
  constexpr bool dense = std::same_as<Kind, kind::dense>;
  const std::size_t numbers = Kind::transitions(shape);
  transition_view<C> t;
  if constexpr (detail::takes_log_decay<C>) {
    t.log_decay = dense ? operands.log_decay.optional(numbers, "log_decay") : operands.log_decay.require(numbers, "log_decay");
  }
  if constexpr (detail::takes_angle<C>) t.angle = operands.angle.require(numbers, "angle");
  if constexpr (detail::takes_transition<C>) {
    const std::size_t entries = dense ? numbers * shape.key_dim * shape.key_dim : numbers;
    t.transition = operands.transition.require(entries, "transition");
  }
  t.reset = operands.reset.optional(shape.batch, "reset");
  return t;
}

/// @throws invalid_argument as resolve_transition(), also for the state and the initial carry.
template <class C>
[[nodiscard]] resolved_operands<C> resolve(const state_shape& shape, const scan_operands<C>& operands) {
  resolved_operands<C> r;
  r.state = operands.state.require(shape.elements(), "state");
  r.transition = resolve_transition(shape, operands);
  r.initial_carry = operands.initial_carry.optional(shape.elements(), "initial_carry");
  return r;
}

}  // namespace allscan
