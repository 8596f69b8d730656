/// What gla_operator and simple_gla_operator share: everything but the gate.
#pragma once

#include <allscan/collective/agreement.hpp>
#include <allscan/collective/scan_plan.hpp>
#include <allscan/core/concepts.hpp>
#include <allscan/core/deadline.hpp>
#include <allscan/core/environment.hpp>
#include <allscan/core/error.hpp>
#include <allscan/core/shape.hpp>
#include <allscan/ops/gla_calls.hpp>
#include <allscan/ops/gla_options.hpp>
#include <allscan/ops/gla_pipelined.hpp>
#include <allscan/ops/gla_serial.hpp>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace allscan::detail {

/// @tparam Gate  kind::diagonal or kind::scalar. Use gla_operator or simple_gla_operator.
template <class Gate, class T, class Communicator>
class gated_operator {
  static_assert(std::floating_point<T>, "an operator computes in float or double");
  static_assert(communicator<Communicator>, "an operator takes a communicator: see allscan/core/concepts.hpp");

 public:
  /// Collective: every rank calls it, in the same order as its other plans and operators. Allocates all that lasts, and
  /// connects; calls allocate only what a kernel needs of scratch.
  /// @param shape  this rank's tokens; all but `tokens` is equal on every rank. A rank may hold none.
  /// @throws invalid_argument, the same on every rank, if an argument is unusable on one or differs between two.
  gated_operator(Communicator comm, const token_shape& shape, const gla_options& options)
      : shape_{agreed(comm, shape, options)},
        scale_{scale_of(shape, options)},
        place_{comm.rank(), comm.size()},
        engine_{options.mode == operator_mode::serial
                    ? engine{std::in_place_type<serial>, comm, shape_, timeout_of(options.scan)}
                    : engine{std::in_place_type<pipelined>, comm, shape_, options.chunk, options.scan}} {}

  /// Collective. o_t = scale * S_t^T q_t with S_t = diag(e^{g_t}) S_{t-1} + k_t v_t^T, over the tokens of all ranks in order.
  /// @throws invalid_argument before any communication, and on this rank alone: its peers get a timeout_error.
  /// @throws timeout_error, transport_error: the outputs are then unusable and the operator is poisoned.
  void forward(const gla_inputs<T>& in, const gla_outputs<T>& out) {
    const auto call = resolve<Gate>(shape_, scale_, place_, in, out);
    std::visit([&](auto& e) { e.forward(call); }, engine_);
  }

  /// Collective. Gradients of a loss of which d_o and d_final_state are the gradients on forward()'s outputs.
  /// Errors as in forward().
  void backward(const gla_backward_inputs<T>& in, const gla_input_gradients<T>& out) {
    const auto call = resolve<Gate>(shape_, scale_, place_, in, out);
    std::visit([&](auto& e) { e.backward(call); }, engine_);
  }

  [[nodiscard]] const token_shape& shape() const { return shape_; }
  [[nodiscard]] int rank() const { return place_.rank; }
  [[nodiscard]] int size() const { return place_.size; }

  /// Of all calls so far: scans, bytes this rank sent, time from start to end of the scans, and the part of it that no work of
  /// this rank hid.
  [[nodiscard]] scan_statistics statistics() const {
    return std::visit([](const auto& e) { return e.statistics(); }, engine_);
  }

  /// What this rank would have sent so far, had every scan been an all-gather of the ranks' summaries (state and decay).
  [[nodiscard]] std::uint64_t allgather_bytes() const {
    const std::size_t summary = (shape_.state().elements() + gate_elements<Gate>(shape_, 1)) * sizeof(T);
    return statistics().scans * static_cast<std::uint64_t>(place_.size - 1) * summary;
  }

  /// Bytes allocated at construction.
  [[nodiscard]] std::size_t workspace_bytes() const {
    return std::visit([](const auto& e) { return e.workspace_bytes(); }, engine_);
  }

 private:
  /// The ranks agree on everything that must not differ, before anything else is built.
  static token_shape agreed(Communicator& comm, const token_shape& shape, const gla_options& options) {
    proposal mine;
    seconds timeout{0};
    const std::uint32_t construction = comm.endpoint().open_channel();
    try {
      timeout = timeout_of(options.scan);
      check(shape, options);
      mine.add("construction number", construction);
      mine.add("operator", std::is_same_v<Gate, kind::diagonal> ? "gla" : "simple_gla");
      mine.add("scalar", std::is_same_v<T, double> ? "double" : "float");
      mine.add("mode", options.mode == operator_mode::serial ? "serial" : "pipelined");
      mine.add("state shape", to_string(shape.state()));
      mine.add("scale", digits(scale_of(shape, options)));
    } catch (const invalid_argument& e) {
      mine.fail(std::string{"an operator cannot be made here: "} + e.what());
    }
    agree(comm, mine, timeout);
    return shape;
  }

  static seconds timeout_of(const scan_options& options) {
    return options.timeout ? *options.timeout : seconds{environment::get_seconds(environment::timeout)};
  }

  static void check(const token_shape& shape, const gla_options& options) {
    validate(shape.state());
    const std::size_t widest = shape.key_dim > shape.value_dim ? shape.key_dim : shape.value_dim;
    (void)checked_product(checked_product(checked_product(shape.batch, shape.tokens), shape.heads), widest);
    if (!(timeout_of(options.scan).count() >= 0)) {
      throw invalid_argument("options.scan.timeout is negative: pass seconds, 0 for no deadline");
    }
    if (options.chunk == 0) throw invalid_argument("options.chunk is 0: pass at least 1, or leave the default of 64");
    if (options.scan.direction != direction::forward) {
      throw invalid_argument("options.scan.direction is the operator's to choose: leave it out");
    }
    if (!std::isfinite(scale_of(shape, options))) {
      throw invalid_argument("options.scale is not finite: pass a number, or leave it out for key_dim^(-1/2)");
    }
  }

  static T scale_of(const token_shape& shape, const gla_options& options) {
    return static_cast<T>(options.scale.value_or(1 / std::sqrt(static_cast<double>(shape.key_dim))));
  }

  /// All of them: scales that differ in the last bit differ.
  static std::string digits(T x) {
    std::array<char, 32> text{};
    (void)std::snprintf(text.data(), text.size(), "%.17g", static_cast<double>(x));
    return text.data();
  }

  using pipelined = gla_pipelined<Gate, T, Communicator>;
  using serial = gla_serial<Gate, T, Communicator>;
  using engine = std::variant<pipelined, serial>;

  token_shape shape_;
  T scale_;
  rank_place place_;
  engine engine_;
};

}  // namespace allscan::detail
