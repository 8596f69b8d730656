// Tokens per second of the CPU kernels of gated linear attention in float, against the token-serial run of the same work.
// 4 heads, 4096 tokens, chunk 64; key_dim = value_dim = the argument.

#include <allscan/kernel/cpu/carry.hpp>
#include <allscan/kernel/cpu/carry_backward.hpp>
#include <allscan/kernel/cpu/intra_chunk.hpp>
#include <allscan/kernel/cpu/intra_chunk_backward.hpp>
#include <allscan/kernel/cpu/summary.hpp>
#include <allscan/kernel/reference/gla.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <random>
#include <vector>

namespace {

namespace cpu = allscan::cpu;
namespace kind = allscan::kind;
namespace reference = allscan::reference;

constexpr std::size_t chunk = 64;

template <class Gate>
struct problem {
  explicit problem(std::size_t dim)
      : shape{.batch = 1, .tokens = 4096, .heads = 4, .key_dim = dim, .value_dim = dim},
        q(normal(shape.key_elements())),
        k(normal(shape.key_elements())),
        v(normal(shape.value_elements())),
        log_decay(shape.rows() * allscan::kernel::gate_width<Gate>(dim)),
        state(normal(shape.state().elements())),
        d_state(normal(shape.state().elements())),
        d_o(normal(shape.value_elements())),
        log_decay_sum(log_decay.size() / shape.tokens),
        o(v.size()),
        dq(q.size()),
        dk(k.size()),
        dv(v.size()),
        dlog_decay(log_decay.size()) {
    std::uniform_real_distribution<float> gate{-0.2F, 0.0F};
    for (float& g : log_decay) g = gate(random);
  }

  [[nodiscard]] allscan::gla_tokens<float> tokens() const {
    return {.q = q.data(), .k = k.data(), .v = v.data(), .log_decay = log_decay.data(), .scale = 0.125F};
  }
  [[nodiscard]] allscan::gla_gradients<float> gradients() {
    return {.dq = dq.data(), .dk = dk.data(), .dv = dv.data(), .dlog_decay = dlog_decay.data()};
  }

  std::vector<float> normal(std::size_t n) {
    std::normal_distribution<float> distribution;
    std::vector<float> values(n);
    for (float& x : values) x = distribution(random);
    return values;
  }

  std::mt19937 random{1};
  allscan::token_shape shape;
  std::vector<float> q, k, v, log_decay, state, d_state, d_o, log_decay_sum, o, dq, dk, dv, dlog_decay;
};

template <class Gate, class Kernel>
void measure(benchmark::State& run, Kernel kernel) {
  problem<Gate> p{static_cast<std::size_t>(run.range(0))};
  for (auto _ : run) {
    kernel(p);
    benchmark::ClobberMemory();
  }
  run.SetItemsProcessed(run.iterations() * static_cast<std::int64_t>(p.shape.tokens));
}

template <class Gate>
void serial_forward(benchmark::State& run) {
  measure<Gate>(run,
                [](auto& p) { reference::gla_forward<Gate>(p.shape, p.tokens(), p.state.data(), p.o.data(), p.state.data()); });
}

template <class Gate>
void summarize(benchmark::State& run) {
  measure<Gate>(run,
                [](auto& p) { cpu::summarize<Gate>(p.shape, chunk, p.tokens(), p.d_state.data(), p.log_decay_sum.data()); });
}

template <class Gate>
void intra_chunk(benchmark::State& run) {
  measure<Gate>(run, [](auto& p) { cpu::intra_chunk<Gate>(p.shape, chunk, p.tokens(), p.o.data()); });
}

template <class Gate>
void add_carry(benchmark::State& run) {
  measure<Gate>(run, [](auto& p) { cpu::add_carry<Gate>(p.shape, chunk, p.tokens(), p.state.data(), p.o.data()); });
}

template <class Gate>
void chunked_forward(benchmark::State& run) {
  measure<Gate>(run, [](auto& p) {
    cpu::summarize<Gate>(p.shape, chunk, p.tokens(), p.d_state.data(), p.log_decay_sum.data());
    cpu::intra_chunk<Gate>(p.shape, chunk, p.tokens(), p.o.data());
    cpu::add_carry<Gate>(p.shape, chunk, p.tokens(), p.state.data(), p.o.data());
  });
}

template <class Gate>
void serial_backward(benchmark::State& run) {
  measure<Gate>(run, [](auto& p) {
    reference::gla_backward<Gate>(p.shape, p.tokens(), p.state.data(), p.d_o.data(), p.d_state.data(), p.gradients(), nullptr);
  });
}

template <class Gate>
void summarize_backward(benchmark::State& run) {
  measure<Gate>(run,
                [](auto& p) { cpu::summarize_backward<Gate>(p.shape, chunk, p.tokens(), p.d_o.data(), p.d_state.data()); });
}

template <class Gate>
void intra_chunk_backward(benchmark::State& run) {
  measure<Gate>(run, [](auto& p) { cpu::intra_chunk_backward<Gate>(p.shape, chunk, p.tokens(), p.d_o.data(), p.gradients()); });
}

template <class Gate>
void add_carry_backward(benchmark::State& run) {
  measure<Gate>(run, [](auto& p) {
    cpu::add_carry_backward<Gate>(p.shape, chunk, p.tokens(), p.state.data(), p.d_o.data(), p.d_state.data(), p.gradients());
  });
}

template <class Gate>
void chunked_backward(benchmark::State& run) {
  measure<Gate>(run, [](auto& p) {
    std::vector<float> d_state(p.d_state.size());
    cpu::summarize_backward<Gate>(p.shape, chunk, p.tokens(), p.d_o.data(), d_state.data());
    cpu::intra_chunk_backward<Gate>(p.shape, chunk, p.tokens(), p.d_o.data(), p.gradients());
    cpu::add_carry_backward<Gate>(p.shape, chunk, p.tokens(), p.state.data(), p.d_o.data(), p.d_state.data(), p.gradients());
  });
}

}  // namespace

#define ALLSCAN_KERNEL_BENCH(name)                                                                           \
  BENCHMARK(name<kind::scalar>)->Name("simple_gla/" #name)->Arg(32)->Arg(64)->Unit(benchmark::kMillisecond); \
  BENCHMARK(name<kind::diagonal>)->Name("gla/" #name)->Arg(32)->Arg(64)->Unit(benchmark::kMillisecond)

ALLSCAN_KERNEL_BENCH(serial_forward);
ALLSCAN_KERNEL_BENCH(chunked_forward);
ALLSCAN_KERNEL_BENCH(summarize);
ALLSCAN_KERNEL_BENCH(intra_chunk);
ALLSCAN_KERNEL_BENCH(add_carry);
ALLSCAN_KERNEL_BENCH(serial_backward);
ALLSCAN_KERNEL_BENCH(chunked_backward);
ALLSCAN_KERNEL_BENCH(summarize_backward);
ALLSCAN_KERNEL_BENCH(intra_chunk_backward);
ALLSCAN_KERNEL_BENCH(add_carry_backward);

BENCHMARK_MAIN();
