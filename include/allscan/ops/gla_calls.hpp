/// The operands of one call, checked and reduced to pointers. Nothing here communicates.
#pragma once

#include <allscan/core/error.hpp>
#include <allscan/core/shape.hpp>
#include <allscan/kernel/tokens.hpp>
#include <allscan/ops/gla_options.hpp>

#include <cstddef>
#include <string>

namespace allscan::detail {

/// Log decays of all tokens; with `tokens` 1, those of a rank's summary.
template <class Gate>
[[nodiscard]] std::size_t gate_elements(const token_shape& s, std::size_t tokens) {
  return s.batch * tokens * s.heads * kernel::gate_width<Gate>(s.key_dim);
}

/// Which of the optional operands this rank may pass.
struct rank_place {
  int rank = 0;
  int size = 1;

  [[nodiscard]] bool first() const { return rank == 0; }
  [[nodiscard]] bool last() const { return rank == size - 1; }
};

/// Null where not given. @throws invalid_argument if given where `allowed` is false.
template <class T>
[[nodiscard]] T* only_on(bool allowed, const char* which, const tensor_view<T>& view, std::size_t elements, const char* name) {
  if (view.given() && !allowed) throw invalid_argument(std::string{name} + " belongs to the " + which + " rank alone");
  return view.optional(elements, name);
}

template <class T>
struct gla_forward_call {
  gla_tokens<T> tokens = {};
  const T* initial_state = {};
  T* o = {};
  T* final_state = {};
  T* carry = {};
};

template <class T>
struct gla_backward_call {
  gla_tokens<T> tokens = {};
  const T* initial_state = {};
  const T* carry = {};
  const T* d_o = {};
  const T* d_final_state = {};
  gla_gradients<T> gradients = {};
  T* d_initial_state = {};
};

template <class Gate, class T, class Inputs>
[[nodiscard]] gla_tokens<T> resolve_tokens(const token_shape& s, T scale, const Inputs& in) {
  return {.q = in.q.require(s.key_elements(), "q"),
          .k = in.k.require(s.key_elements(), "k"),
          .v = in.v.require(s.value_elements(), "v"),
          .log_decay = in.log_decay.require(gate_elements<Gate>(s, s.tokens), "log_decay"),
          .scale = scale};
}

/// @throws invalid_argument that names the rank and the operand.
template <class Resolve>
[[nodiscard]] auto on_rank(int rank, const char* call, Resolve resolve) {
  try {
    return resolve();
  } catch (const invalid_argument& e) {
    throw invalid_argument("rank " + std::to_string(rank) + ", " + call + ": " + e.what());
  }
}

template <class Gate, class T>
[[nodiscard]] gla_forward_call<T> resolve(const token_shape& s, T scale, rank_place place, const gla_inputs<T>& in,
                                          const gla_outputs<T>& out) {
  const std::size_t states = s.state().elements();
  return on_rank(place.rank, "forward", [&] {
    return gla_forward_call<T>{.tokens = resolve_tokens<Gate>(s, scale, in),
                               .initial_state = only_on(place.first(), "first", in.initial_state, states, "initial_state"),
                               .o = out.o.require(s.value_elements(), "o"),
                               .final_state = only_on(place.last(), "last", out.final_state, states, "final_state"),
                               .carry = out.carry.optional(states, "carry")};
  });
}

template <class Gate, class T>
[[nodiscard]] gla_backward_call<T> resolve(const token_shape& s, T scale, rank_place place, const gla_backward_inputs<T>& in,
                                           const gla_input_gradients<T>& out) {
  const std::size_t states = s.state().elements();
  return on_rank(place.rank, "backward", [&] {
    return gla_backward_call<T>{
        .tokens = resolve_tokens<Gate>(s, scale, in),
        .initial_state = only_on(place.first(), "first", in.initial_state, states, "initial_state"),
        .carry = in.carry.optional(states, "carry"),
        .d_o = in.d_o.require(s.value_elements(), "d_o"),
        .d_final_state = only_on(place.last(), "last", in.d_final_state, states, "d_final_state"),
        .gradients = {.dq = out.dq.require(s.key_elements(), "dq"),
                      .dk = out.dk.require(s.key_elements(), "dk"),
                      .dv = out.dv.require(s.value_elements(), "dv"),
                      .dlog_decay = out.dlog_decay.require(gate_elements<Gate>(s, s.tokens), "dlog_decay")},
        .d_initial_state = only_on(place.first(), "first", out.d_initial_state, states, "d_initial_state")};
  });
}

}  // namespace allscan::detail
