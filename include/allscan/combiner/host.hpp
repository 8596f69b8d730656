/// Summaries on plain host tensors: what one does to a carry, and two made into one. No communication.
#pragma once

#include <allscan/combiner/kinds.hpp>
#include <allscan/core/shape.hpp>
#include <allscan/core/view.hpp>

#include <cstddef>
#include <cstdint>

namespace allscan {

/// Where a composed summary goes: as scan_operands, to be written. `reset` is needed where one of the two summaries has flags,
/// a dense log_decay where one of them has it.
template <class C>
struct summary_buffers {
  using scalar = scalar_of<C>;
  tensor_view<scalar> state = {};
  detail::operand<C, detail::takes_log_decay<C>, scalar> log_decay = {};
  detail::operand<C, detail::takes_angle<C>, scalar> angle = {};
  detail::operand<C, detail::takes_transition<C>, transition_of<C>> transition = {};
  tensor_view<std::uint8_t> reset = {};
};

namespace detail {

template <class C>
[[nodiscard]] resolved_operands<C> resolve_summary(const state_shape& shape, const scan_operands<C>& summary) {
  if (summary.initial_carry.given()) throw invalid_argument("initial_carry belongs to a scan: pass the carry as an argument");
  return resolve(shape, summary);
}

template <class T>
void refuse_same(const T* out, const T* in, const char* name) {
  if (out != nullptr && out == in) {
    throw invalid_argument(std::string{"a dense result cannot overwrite its own "} + name + ": pass another buffer");
  }
}

template <class C>
void fold_all(const C& c, const state_shape& shape, const resolved_operands<C>& summary, const scalar_of<C>* carry,
              scalar_of<C>* out) {
  using Kind = kind_of<C>;
  using View = block_view<const scalar_of<C>>;
  if constexpr (std::same_as<Kind, kind::dense>) {
    refuse_same<scalar_of<C>>(out, carry, "carry");
    refuse_same<scalar_of<C>>(out, summary.state, "state");
  }
  Kind::fold(c, shape, {0, Kind::units(shape)}, summary.transition, View{carry}, View{summary.state}, {out});
}

}  // namespace detail

/// out = A carry + S (of an adjoint: A^T carry + S), all shaped as the state; resets as in a scan.
/// @param out  may be the carry or the state, but not of a dense combiner.
/// @throws invalid_argument if an operand is missing or has the wrong size.
template <class C>
void apply(const C& c, const state_shape& shape, const scan_operands<C>& summary, tensor_view<const scalar_of<C>> carry,
           tensor_view<scalar_of<C>> out) {
  kind_of<C>::validate(shape);
  detail::fold_all(c, shape, detail::resolve_summary(shape, summary), carry.require(shape.elements(), "carry"),
                   out.require(shape.elements(), "out"));
}

/// The summary of the tokens of `earlier`, then those of `later`, in the order of traversal:
///   plain    A = A_later A_earlier, S = A_later S_earlier + S_later
///   adjoint  A = A_earlier A_later, S = A_later^T S_earlier + S_later, A kept untransposed
/// @param out  may be one of the two, but not of a dense combiner.
/// @throws invalid_argument if an operand or a result is missing or has the wrong size.
template <class C>
void compose(const C& c, const state_shape& shape, const scan_operands<C>& earlier, const scan_operands<C>& later,
             const summary_buffers<C>& out) {
  static_assert(composable<C>,
                "to compose transitions a combiner needs compose(earlier, later); a dense one, matrix entries of "
                "its scalar type");
  using Kind = kind_of<C>;
  constexpr bool dense = std::same_as<Kind, kind::dense>;
  Kind::validate(shape);
  const resolved_operands<C> first = detail::resolve_summary(shape, earlier);
  const resolved_operands<C> second = detail::resolve_summary(shape, later);
  const std::size_t numbers = Kind::transitions(shape);

  scalar_of<C>* const state = out.state.require(shape.elements(), "the composed state");
  transition_buffer<C> to;
  if constexpr (detail::takes_log_decay<C>) {
    const bool needed = !dense || first.transition.log_decay != nullptr || second.transition.log_decay != nullptr;
    to.log_decay = needed ? out.log_decay.require(numbers, "the composed log_decay")
                          : out.log_decay.optional(numbers, "the composed log_decay");
  }
  if constexpr (detail::takes_angle<C>) to.angle = out.angle.require(numbers, "the composed angle");
  if constexpr (detail::takes_transition<C>) {
    const std::size_t entries = dense ? numbers * shape.key_dim * shape.key_dim : numbers;
    to.transition = out.transition.require(entries, "the composed transition");
    if constexpr (dense) {
      detail::refuse_same<transition_of<C>>(to.transition, first.transition.transition, "transition");
      detail::refuse_same<transition_of<C>>(to.transition, second.transition.transition, "transition");
    }
  }
  const bool flags = first.transition.reset != nullptr || second.transition.reset != nullptr;
  to.reset =
      flags ? out.reset.require(shape.batch, "the composed reset") : out.reset.optional(shape.batch, "the composed reset");

  detail::fold_all(c, shape, second, first.state, state);  // reads the later transition, so it comes before that is overwritten
  Kind::compose(c, shape, {0, Kind::units(shape)}, first.transition, second.transition, to);
  for (std::size_t b = 0; to.reset != nullptr && b < shape.batch; ++b) {
    to.reset[b] = first.transition.flagged(b) || second.transition.flagged(b) ? 1 : 0;
  }
}

}  // namespace allscan
