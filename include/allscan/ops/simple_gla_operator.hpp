/// Gated linear attention with one log decay a head (simple GLA, RetNet, Lightning, Mamba-2's core; linear attention with
/// log decays of 0). One sequence, split over ranks.
#pragma once

#include <allscan/combiner/kinds.hpp>
#include <allscan/ops/gated_operator.hpp>

#include <utility>

namespace allscan {

/// gla_operator with a scalar gate: log_decay and dlog_decay are [batch, tokens, heads].
template <class T, class Communicator>
class simple_gla_operator : public detail::gated_operator<kind::scalar, T, Communicator> {
 public:
  /// See gated_operator.
  simple_gla_operator(Communicator comm, const token_shape& shape, const gla_options& options = {})
      : detail::gated_operator<kind::scalar, T, Communicator>{std::move(comm), shape, options} {}
};

template <class Communicator>
simple_gla_operator(Communicator, const token_shape&, const gla_options& = {}) -> simple_gla_operator<float, Communicator>;

}  // namespace allscan
