/// ZeCO (arXiv 2507.01004, algorithms 1 and 3): summaries first, then the scan beside the work that needs no carry.
///
///   forward    summarize, start scan, intra-chunk part │ wait, add the carry's part
///   backward   summarize backward, start reverse adjoint scan, intra-chunk part │ wait, add the rest
#pragma once

#include <allscan/collective/scan_plan.hpp>
#include <allscan/combiner/adjoint.hpp>
#include <allscan/combiner/decay.hpp>
#include <allscan/core/endpoint.hpp>
#include <allscan/core/parallel.hpp>
#include <allscan/kernel/cpu/carry.hpp>
#include <allscan/kernel/cpu/carry_backward.hpp>
#include <allscan/kernel/cpu/intra_chunk.hpp>
#include <allscan/kernel/cpu/intra_chunk_backward.hpp>
#include <allscan/kernel/cpu/summary.hpp>
#include <allscan/ops/gla_calls.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace allscan::detail {

/// The gates of all tokens, summed in double. @param sum  [batch, heads] or [batch, heads, key_dim], written.
template <class Gate, class T>
void sum_log_decay(const token_shape& s, const T* log_decay, T* sum) {
  const std::size_t width = kernel::gate_width<Gate>(s.key_dim);
  parallel_for(s.batch * s.heads, [&](std::size_t m) {
    const auto gates = kernel::head_rows(s, m, log_decay, width);
    std::vector<double> total(width);
    for (std::size_t t = 0; t < s.tokens; ++t) {
      for (std::size_t d = 0; d < width; ++d) total[d] += static_cast<double>(gates[t][d]);
    }
    for (std::size_t d = 0; d < width; ++d) sum[m * width + d] = static_cast<T>(total[d]);
  });
}

/// Every buffer is allocated at construction: four states and one gate sum, beside the plans' shared workspace. A rank with no
/// tokens has the summary that changes nothing (log decay 0, state 0), so it passes the carry on.
template <class Gate, class T, class Communicator>
class gla_pipelined {
  using combiner = decay<Gate, T>;

 public:
  gla_pipelined(Communicator comm, const token_shape& shape, std::size_t chunk, scan_options options)
      : shape_{shape},
        chunk_{chunk},
        options_{with_workspace(std::move(options))},
        plan_{comm, combiner{}, shape.state(), directed(options_, direction::forward)},
        reverse_plan_{comm, adjoint{combiner{}}, shape.state(), directed(options_, direction::reverse)},
        comm_{std::move(comm)},
        memory_{std::make_shared<buffers>(shape.state().elements(), gate_elements<Gate>(shape, 1))} {}

  void forward(const gla_forward_call<T>& call) {
    guarded([&] {
      T* carry = call.carry != nullptr ? call.carry : memory_->carry.data();
      cpu::summarize<Gate>(shape_, chunk_, call.tokens, memory_->state.data(), memory_->log_decay.data(), hook());
      auto scan = start(call.initial_state, carry, call.final_state);
      cpu::intra_chunk<Gate>(shape_, chunk_, call.tokens, call.o, hook());
      scan.wait();
      cpu::add_carry<Gate>(shape_, chunk_, call.tokens, carry, call.o, hook());
    });
  }

  void backward(const gla_backward_call<T>& call) {
    guarded([&] {
      const T* carry = call.carry;
      if (carry == nullptr) {
        cpu::summarize<Gate>(shape_, chunk_, call.tokens, memory_->state.data(), memory_->log_decay.data(), hook());
        auto scan = start(call.initial_state, memory_->carry.data(), nullptr);
        cpu::summarize_backward<Gate>(shape_, chunk_, call.tokens, call.d_o, memory_->d_state.data(), hook());
        scan.wait();
        carry = memory_->carry.data();
      } else {
        sum_log_decay<Gate>(shape_, call.tokens.log_decay, memory_->log_decay.data());
        cpu::summarize_backward<Gate>(shape_, chunk_, call.tokens, call.d_o, memory_->d_state.data(), hook());
      }
      auto scan = reverse_plan_.start_exclusive_scan(
          {.state = memory_->d_state, .log_decay = memory_->log_decay, .initial_carry = call.d_final_state},
          {.carry = memory_->d_outgoing, .outgoing = call.d_initial_state});
      cpu::intra_chunk_backward<Gate>(shape_, chunk_, call.tokens, call.d_o, call.gradients, hook());
      scan.wait();
      cpu::add_carry_backward<Gate>(shape_, chunk_, call.tokens, carry, call.d_o, memory_->d_outgoing.data(), call.gradients,
                                    hook());
    });
  }

  [[nodiscard]] scan_statistics statistics() const {
    const scan_statistics& a = plan_.statistics();
    const scan_statistics& b = reverse_plan_.statistics();
    return {a.scans + b.scans, a.bytes_sent + b.bytes_sent, a.seconds_total + b.seconds_total,
            a.seconds_exposed + b.seconds_exposed};
  }
  [[nodiscard]] std::size_t workspace_bytes() const {
    return options_.workspace->bytes() + (4 * memory_->state.size() + memory_->log_decay.size()) * sizeof(T);
  }

 private:
  /// What messages may point to: it outlives a failed scan.
  struct buffers {
    buffers(std::size_t states, std::size_t gates)
        : state(states), carry(states), d_state(states), d_outgoing(states), log_decay(gates) {}
    std::vector<T> state, carry, d_state, d_outgoing, log_decay;
  };

  /// One scan is in flight at a time, so both plans work in one memory.
  static scan_options with_workspace(scan_options options) {
    if (!options.workspace) options.workspace = std::make_shared<scan_workspace>();
    return options;
  }
  static scan_options directed(scan_options options, direction d) {
    options.direction = d;
    return options;
  }

  started_scan start(const T* initial_state, T* carry, T* final_state) {
    return plan_.start_exclusive_scan(
        {.state = memory_->state, .log_decay = memory_->log_decay, .initial_carry = initial_state},
        {.carry = carry, .outgoing = final_state});
  }

  /// Called by the kernels between chunks: moves on every scan of this rank that is in flight, and never throws.
  auto hook() {
    return [this] { comm_.endpoint().progress(); };
  }

  template <class Body>
  void guarded(Body body) {
    try {
      body();
    } catch (...) {
      keep_until_exit(memory_);
      throw;
    }
  }

  token_shape shape_;
  std::size_t chunk_;
  scan_options options_;
  scan_plan<Communicator, combiner> plan_;
  scan_plan<Communicator, adjoint<combiner>> reverse_plan_;
  Communicator comm_;
  std::shared_ptr<buffers> memory_;
};

}  // namespace allscan::detail
