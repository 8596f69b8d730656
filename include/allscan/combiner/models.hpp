/// The combiner of each model, by the model's name.
#pragma once

#include <allscan/combiner/decay.hpp>

namespace allscan {

template <class T>
using linear_attention = accumulate<T>;  ///< S += k v^T

template <class T>
using retention = decay<kind::scalar, T>;  ///< S = gamma_h S + k v^T
template <class T>
using simple_gla = decay<kind::scalar, T>;  ///< S = e^g S + k v^T, g per head
template <class T>
using mamba2 = decay<kind::scalar, T>;  ///< simple GLA with g = dt A

template <class T>
using gla = decay<kind::diagonal, T>;  ///< S = diag(e^g) S + k v^T, g per key dimension
template <class T>
using hgrn2 = decay<kind::diagonal, T>;  ///< GLA with k = 1 - e^g
template <class T>
using rwkv6 = decay<kind::diagonal, T>;  ///< GLA that reads the state before the decay

template <class T>
using hgrn = decay<kind::elementwise, T>;  ///< h = e^g h + x, a vector
template <class T>
using mamba1 = decay<kind::elementwise, T>;  ///< h = exp(dt A) h + dt B x

template <class T>
using mamba3 = rotary<T>;  ///< S = e^g R(angle) S + k v^T

template <class T>
using deltanet = dense_transition<T>;  ///< prod (I - beta k k^T)
template <class T>
using gated_deltanet = dense_transition<T>;  ///< prod e^g (I - beta k k^T): the gates' sum may go to log_decay
template <class T>
using kda = dense_transition<T>;  ///< prod (I - beta k k^T) diag(e^g)
template <class T>
using dplr = dense_transition<T>;  ///< prod (diag(e^w) + b a^T)
template <class T>
using rwkv7 = dense_transition<T>;  ///< DPLR with a = -kappa, b = kappa * a'

}  // namespace allscan
