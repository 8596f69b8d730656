/// Gated linear attention (GLA, HGRN-2): one log decay a key dimension. One sequence, split over ranks.
#pragma once

#include <allscan/combiner/kinds.hpp>
#include <allscan/ops/gated_operator.hpp>

#include <utility>

namespace allscan {

/// Sequence-parallel forward and backward of
///
///   S_t = diag(e^{g_t}) S_{t-1} + k_t v_t^T        o_t = scale * S_t^T q_t
///
/// The ranks of `comm` hold consecutive parts of the sequence, of any lengths. Reusable for any number of calls and layers of
/// one shape, one call at a time.
///
///   allscan::gla_operator op{comm, shape, {.chunk = 64}};                                   // float
///   allscan::gla_operator<double, allscan::thread::communicator> op{comm, shape};
///   op.forward({.q = q, .k = k, .v = v, .log_decay = g}, {.o = o, .carry = carry});
///   op.backward({.q = q, .k = k, .v = v, .log_decay = g, .carry = carry, .d_o = d_o},
///               {.dq = dq, .dk = dk, .dv = dv, .dlog_decay = dg});
template <class T, class Communicator>
class gla_operator : public detail::gated_operator<kind::diagonal, T, Communicator> {
 public:
  /// See gated_operator.
  gla_operator(Communicator comm, const token_shape& shape, const gla_options& options = {})
      : detail::gated_operator<kind::diagonal, T, Communicator>{std::move(comm), shape, options} {}
};

template <class Communicator>
gla_operator(Communicator, const token_shape&, const gla_options& = {}) -> gla_operator<float, Communicator>;

}  // namespace allscan
