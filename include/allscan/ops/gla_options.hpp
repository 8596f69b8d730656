/// Options and operands of the gated linear attention operators.
#pragma once

#include <allscan/collective/scan_plan.hpp>
#include <allscan/core/view.hpp>

#include <cstddef>
#include <optional>

namespace allscan {

/// How the ranks share the work on one sequence.
enum class operator_mode {
  pipelined,  ///< every rank summarizes its tokens at once; the carry comes from a scan that runs beside work needing none
  serial,     ///< every rank waits for its carry and runs the token-serial kernel from it: one device's result to the bit
};

struct gla_options {
  std::size_t chunk = 64;            ///< tokens a kernel processes together; may differ between ranks: it changes rounding only
  std::optional<double> scale = {};  ///< factor on q; unset: key_dim^(-1/2). Equal on every rank
  operator_mode mode = operator_mode::pipelined;  ///< equal on every rank
  scan_options scan = {};  ///< of both scans; `direction` is the operator's to choose. Serial mode reads `timeout` only
};

/// What one rank's forward pass reads. `tokens` is the rank's own count, in token order along the ranks.
///
///   q, k        [batch, tokens, heads, key_dim]
///   v           [batch, tokens, heads, value_dim]
///   log_decay   natural log, <= 0: [batch, tokens, heads, key_dim] (diagonal gate) or [batch, tokens, heads] (scalar gate)
///   initial_state   optional, first rank only: the state [batch, heads, key_dim, value_dim] before the first token, else 0
template <class T>
struct gla_inputs {
  tensor_view<const T> q = {};
  tensor_view<const T> k = {};
  tensor_view<const T> v = {};
  tensor_view<const T> log_decay = {};
  tensor_view<const T> initial_state = {};
};

/// What one rank's forward pass writes. Nothing may overlap an input or another output.
///
///   o             [batch, tokens, heads, value_dim]
///   final_state   optional, last rank only: the state after the last token
///   carry         optional: the state before this rank's first token. Given back to backward(), it saves a scan there
template <class T>
struct gla_outputs {
  tensor_view<T> o = {};
  tensor_view<T> final_state = {};
  tensor_view<T> carry = {};
};

/// What one rank's backward pass reads: the forward pass's inputs, and
///
///   carry           optional, on all ranks or on none: what forward() wrote. Without it one more scan recomputes it, from
///                   `initial_state` (read only then); ranks that differ in this wait for each other in vain: timeout_error
///   d_o             gradient of o
///   d_final_state   optional, last rank only: gradient of final_state, else 0
template <class T>
struct gla_backward_inputs {
  tensor_view<const T> q = {};
  tensor_view<const T> k = {};
  tensor_view<const T> v = {};
  tensor_view<const T> log_decay = {};
  tensor_view<const T> initial_state = {};
  tensor_view<const T> carry = {};
  tensor_view<const T> d_o = {};
  tensor_view<const T> d_final_state = {};
};

/// What one rank's backward pass writes: gradients of the tensors they are named after, overwritten, not added to.
/// `d_initial_state` is optional, first rank only. Nothing may overlap an input or another output.
template <class T>
struct gla_input_gradients {
  tensor_view<T> dq = {};
  tensor_view<T> dk = {};
  tensor_view<T> dv = {};
  tensor_view<T> dlog_decay = {};
  tensor_view<T> d_initial_state = {};
};

}  // namespace allscan
