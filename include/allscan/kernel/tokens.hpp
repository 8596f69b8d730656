/// What the kernels of gated linear attention read and write. All tensors are [batch, tokens, heads, dim], row-major, dense.
///
///   S_t = diag(e^{g_t}) S_{t-1} + k_t v_t^T        o_t = scale * S_t^T q_t
#pragma once

#include <allscan/core/shape.hpp>

#include <cstddef>
#include <type_traits>

namespace allscan {

namespace kind {
struct scalar;
struct diagonal;
}  // namespace kind

/// One rank's tokens. log_decay: natural log, <= 0; [batch, tokens, heads] for a scalar gate, [batch, tokens, heads, key_dim]
/// for a diagonal one. At -inf nothing remains of a finite state.
template <class T>
struct gla_tokens {
  const T* q = {};
  const T* k = {};
  const T* v = {};
  const T* log_decay = {};
  T scale = T(1);  ///< factor on q
};

/// Gradients, shaped as what they belong to. Must not overlap the inputs or each other.
template <class T>
struct gla_gradients {
  T* dq = {};
  T* dk = {};
  T* dv = {};
  T* dlog_decay = {};
};

/// The hook of a kernel that nobody else waits for.
struct no_hook {
  void operator()() const {}
};

namespace kernel {

/// Takes T from the other arguments only, so that nullptr may be passed.
template <class T>
using same = std::type_identity_t<T>;

/// The gates a token has per head.
template <class Gate>
[[nodiscard]] constexpr std::size_t gate_width(std::size_t key_dim) {
  static_assert(std::is_same_v<Gate, kind::scalar> || std::is_same_v<Gate, kind::diagonal>,
                "a linear-attention kernel takes a scalar or a diagonal gate: kind::scalar or kind::diagonal");
  return std::is_same_v<Gate, kind::scalar> ? 1 : key_dim;
}

/// One row a token of one batch row and head: row i starts at data + i * stride.
template <class T>
struct rows {
  T* data = {};
  std::size_t stride = 0;

  [[nodiscard]] T* operator[](std::size_t i) const { return data + i * stride; }
  [[nodiscard]] rows from(std::size_t i) const { return {data + i * stride, stride}; }
};

/// The rows of matrix (batch, head) = `matrix` in a token tensor whose last dimension is `dim`.
template <class T>
[[nodiscard]] rows<T> head_rows(const token_shape& shape, std::size_t matrix, T* tensor, std::size_t dim) {
  if (tensor == nullptr) return {};
  const std::size_t batch = matrix / shape.heads;
  const std::size_t head = matrix % shape.heads;
  return {tensor + (batch * shape.tokens * shape.heads + head) * dim, shape.heads * dim};
}

}  // namespace kernel

}  // namespace allscan
