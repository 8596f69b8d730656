/// Gradients of a summary's transition, in the space of the operands: both factors are local, since the carry was received.
#pragma once

#include <allscan/combiner/decay.hpp>
#include <allscan/combiner/kinds.hpp>
#include <allscan/core/shape.hpp>
#include <allscan/core/view.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <type_traits>

namespace allscan {

/// Where gradients go, each shaped as its operand: log_decay (scalar, diagonal, elementwise, rotation; dense if wanted), angle
/// (rotation), transition (dense). All are written, not added to.
template <class C>
struct transition_gradients {
  using scalar = scalar_of<C>;
  detail::operand<C, detail::takes_log_decay<C>, scalar> log_decay = {};
  detail::operand<C, detail::takes_angle<C>, scalar> angle = {};
  detail::operand<C, detail::takes_transition<C>, scalar> transition = {};
};

namespace detail {

/// What sums over many rows are kept in.
template <class T>
using wide = std::conditional_t<(sizeof(T) < sizeof(double)), double, T>;

/// sum_i a[i] b[i]; partial sums in lanes, so that it vectorises and rounds less than one running sum.
template <class T>
[[nodiscard]] ALLSCAN_NOINLINE wide<T> dot(const T* a, const T* b, std::size_t n) {
  constexpr std::size_t lanes = 64 / sizeof(T);
  T partial[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (std::size_t l = 0; l < lanes; ++l) partial[l] += a[i + l] * b[i + l];
  }
  for (std::size_t l = 0; i < n; ++i, ++l) partial[l] += a[i] * b[i];
  wide<T> sum = 0;
  for (const T p : partial) sum += p;
  return sum;
}

/// One summary's operands for the gradient formulas.
template <class C>
struct gradient_task {
  using scalar = scalar_of<C>;
  const C& c;
  const state_shape& shape;
  transition_view<C> t;
  const scalar* d;      ///< gradient on the state that this rank hands on
  const scalar* carry;  ///< the state that arrived

  /// True if number i passes nothing of the carry: its gradient is 0, even if the carry is Inf or NaN.
  [[nodiscard]] bool resets(std::size_t i) const {
    return allscan::is_reset(c, t.number(i)) ||
           (t.reset != nullptr && t.flagged(i / (kind_of<C>::transitions(shape) / shape.batch)));
  }

  /// dlog = e^g sum(d * carry) over what shares the number.
  void decays(scalar* log_decay) const {
    const std::size_t numbers = kind_of<C>::transitions(shape);
    const std::size_t each = numbers == 0 ? 0 : shape.elements() / numbers;
    for (std::size_t i = 0; i < numbers; ++i) {
      log_decay[i] = 0;
      if (resets(i)) continue;
      const wide<scalar> sum = dot(d + i * each, carry + i * each, each);
      log_decay[i] = static_cast<scalar>(allscan::prepare(c, t.number(i)) * sum);
    }
  }

  /// Of out = e^g R(a) carry: dlog = sum(d * out), dangle = sum(d * out turned on by a right angle).
  void rotations(scalar* log_decay, scalar* angle) const {
    const std::size_t n = shape.value_dim;
    for (std::size_t i = 0; i < kind_of<C>::transitions(shape); ++i) {
      log_decay[i] = 0;
      angle[i] = 0;
      if (resets(i)) continue;
      const scalar* const dx = d + 2 * i * n;
      const scalar* const x = carry + 2 * i * n;
      const wide<scalar> along = dot(dx, x, n) + dot(dx + n, x + n, n);
      const wide<scalar> across = dot(dx + n, x, n) - dot(dx, x + n, n);
      const pair<scalar> r = allscan::prepare(c, t.number(i));
      log_decay[i] = static_cast<scalar>(r.x * along + r.y * across);
      angle[i] = static_cast<scalar>(r.x * across - r.y * along);
    }
  }

  /// dA = e^g d carry^T and dlog = sum(A * dA). Cost: key_dim^2 value_dim multiplications a head.
  void matrices(scalar* transition, scalar* log_decay) const {
    const std::size_t n = shape.key_dim;
    for (std::size_t head = 0; head < shape.matrices(); ++head) {
      scalar* const d_matrix = transition + head * n * n;
      const scalar* const matrix = t.matrix(head, n);
      wide<scalar> sum = 0;
      if (resets(head)) {
        std::fill_n(d_matrix, n * n, scalar{0});
      } else {
        const scalar factor = allscan::prepare(c, t.number(head));
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t j = 0; j < n; ++j) {
            const wide<scalar> product =
                factor * dot(d + (head * n + i) * shape.value_dim, carry + (head * n + j) * shape.value_dim, shape.value_dim);
            d_matrix[i * n + j] = static_cast<scalar>(product);
            sum += matrix[i * n + j] * product;
          }
        }
      }
      if (log_decay != nullptr) log_decay[head] = static_cast<scalar>(sum);
    }
  }
};

}  // namespace detail

/// Gradients of the transition of out = A carry + S, given d_outgoing = dLoss/dout and the carry, both shaped as the state; the
/// gradient of S is d_outgoing itself. At a reset they are 0, whatever the carry holds. Pass the plain combiner, not its
/// adjoint.
/// @param summary  the transition operands of the forward scan; `state` is not needed.
/// @throws invalid_argument if an operand or a result is missing or has the wrong size.
template <class C>
void transition_gradient(const C& c, const state_shape& shape, const scan_operands<C>& summary,
                         tensor_view<const scalar_of<C>> d_outgoing, tensor_view<const scalar_of<C>> carry,
                         const transition_gradients<C>& out) {
  static_assert(is_log_space<C>, "transition gradients are known for the library's combiners: a custom combiner has its own");
  static_assert(!is_adjoint<C>, "pass the forward scan's combiner: transition gradients of an adjoint are not defined");
  using Kind = kind_of<C>;
  Kind::validate(shape);
  const detail::gradient_task<C> task{c, shape, resolve_transition(shape, summary),
                                      d_outgoing.require(shape.elements(), "d_outgoing"),
                                      carry.require(shape.elements(), "carry")};
  const std::size_t numbers = Kind::transitions(shape);
  if constexpr (std::same_as<Kind, kind::rotation>) {
    scalar_of<C>* const log_decay = out.log_decay.require(numbers, "the gradient of log_decay");
    task.rotations(log_decay, out.angle.require(numbers, "the gradient of angle"));
  } else if constexpr (std::same_as<Kind, kind::dense>) {
    scalar_of<C>* const log_decay = out.log_decay.optional(numbers, "the gradient of log_decay");
    task.matrices(out.transition.require(numbers * shape.key_dim * shape.key_dim, "the gradient of transition"), log_decay);
  } else if constexpr (!std::same_as<Kind, kind::none>) {
    task.decays(out.log_decay.require(numbers, "the gradient of log_decay"));
  }
}

}  // namespace allscan
