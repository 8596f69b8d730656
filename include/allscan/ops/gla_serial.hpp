/// LASP-1: the ranks take turns, each running the token-serial kernel from the state the one before it hands on.
#pragma once

#include <allscan/collective/scan_plan.hpp>
#include <allscan/collective/serial_pass.hpp>
#include <allscan/kernel/reference/gla.hpp>
#include <allscan/ops/gla_calls.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace allscan::detail {

/// Equals the same kernel on one rank to the bit, forward and backward, wherever the sequence is cut: the kernel's only memory
/// between two tokens is the state, and the state crosses untouched.
template <class Gate, class T, class Communicator>
class gla_serial {
 public:
  gla_serial(const Communicator& comm, const token_shape& shape, seconds timeout)
      : shape_{shape},
        pass_{comm, shape.state().elements(), direction::forward, timeout},
        reverse_pass_{comm, shape.state().elements(), direction::reverse, timeout} {}

  void forward(const gla_forward_call<T>& call) {
    ++scans_;
    const T* carry = pass_.first() ? call.initial_state : pass_.receive();
    reference::gla_forward<Gate>(shape_, call.tokens, carry, call.o, pass_.outgoing());
    if (call.carry != nullptr) copy_state(carry, call.carry);
    if (call.final_state != nullptr) copy_state(pass_.outgoing(), call.final_state);
    hand_on(pass_);
  }

  void backward(const gla_backward_call<T>& call) {
    const T* carry = call.carry != nullptr ? call.carry : recomputed_carry(call);
    ++scans_;
    const T* d_outgoing = reverse_pass_.first() ? call.d_final_state : reverse_pass_.receive();
    reference::gla_backward<Gate>(shape_, call.tokens, carry, call.d_o, d_outgoing, call.gradients, reverse_pass_.outgoing());
    if (call.d_initial_state != nullptr) copy_state(reverse_pass_.outgoing(), call.d_initial_state);
    hand_on(reverse_pass_);
  }

  /// Nothing hides a pass: all its time is exposed.
  [[nodiscard]] scan_statistics statistics() const {
    const double waited = (pass_.waited() + reverse_pass_.waited()).count();
    return {scans_, pass_.bytes_sent() + reverse_pass_.bytes_sent(), waited, waited};
  }
  [[nodiscard]] std::size_t workspace_bytes() const { return pass_.workspace_bytes() + reverse_pass_.workspace_bytes(); }

 private:
  using pass = serial_pass<T, Communicator>;

  const T* recomputed_carry(const gla_backward_call<T>& call) {
    T* o = call.gradients.dv;  // not wanted: goes where dv, of the same shape, is written afterwards
    ++scans_;
    const T* carry = pass_.first() ? call.initial_state : pass_.receive();
    if (!pass_.last()) reference::gla_forward<Gate>(shape_, call.tokens, carry, o, pass_.outgoing());
    hand_on(pass_);
    return carry;
  }

  static void hand_on(pass& p) {
    if (!p.last()) p.send();
  }

  /// @param from  null: the state before any token.
  void copy_state(const T* from, T* to) const {
    const std::size_t elements = shape_.state().elements();
    if (from == nullptr) {
      std::fill_n(to, elements, T{});
    } else {
      std::copy_n(from, elements, to);
    }
  }

  token_shape shape_;
  pass pass_;
  pass reverse_pass_;
  std::uint64_t scans_ = 0;
};

}  // namespace allscan::detail
