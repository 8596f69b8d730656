/// What folding 1 MiB of state costs, kind by kind, against a memcpy of it by the same core.
///
///   build/release/bench/combiner_bench [--benchmark_filter=diagonal]
///
/// Every iteration times a fold and a memcpy in turn; `time_over_memcpy` is the median of their ratios, so that whatever else
/// the machine does hits both. Time is the fold's. The fold of a diagonal float32 state fails past 4 times a memcpy.

#include <allscan/combiner/adjoint.hpp>
#include <allscan/combiner/models.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using namespace allscan;

constexpr std::size_t state_bytes = std::size_t{1} << 20;
constexpr double diagonal_limit = 4;

/// 1 MiB in heads of 128 x 128.
template <class Scalar>
constexpr state_shape shape{.heads = state_bytes / sizeof(Scalar) / (128 * 128), .key_dim = 128, .value_dim = 128};

template <class F>
double seconds_of(F f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  benchmark::ClobberMemory();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class C>
struct fold_buffers {
  using scalar = scalar_of<C>;
  using Kind = kind_of<C>;
  state_shape s = shape<scalar>;
  std::vector<scalar> carry = std::vector<scalar>(s.elements(), scalar(0.25));
  std::vector<scalar> local = std::vector<scalar>(s.elements(), scalar(0.5));
  std::vector<scalar> out = std::vector<scalar>(s.elements());
  std::vector<scalar> log_decay = std::vector<scalar>(Kind::transitions(s), scalar(-0.3));
  std::vector<scalar> angle = std::vector<scalar>(log_decay.size(), scalar(0.7));
  std::vector<scalar> matrix =
      std::vector<scalar>(std::is_same_v<Kind, kind::dense> ? log_decay.size() * s.key_dim * s.key_dim : 0, scalar(0.01));

  [[nodiscard]] transition_view<C> transition() const {
    transition_view<C> t{.log_decay = log_decay.data(), .angle = angle.data()};
    if constexpr (std::is_same_v<Kind, kind::dense>) t.transition = matrix.data();
    return t;
  }
};

template <class C>
void fold(benchmark::State& state) {
  using Kind = kind_of<C>;
  const C c;
  fold_buffers<C> b;
  const transition_view<C> t = b.transition();
  std::vector<double> ratios;
  for (auto _ : state) {
    const double copied = seconds_of([&] { std::memcpy(b.out.data(), b.local.data(), state_bytes); });
    const double folded = seconds_of([&] {
      Kind::fold(c, b.s, {0, Kind::units(b.s)}, t, {b.carry.data(), false}, {b.local.data(), false}, {b.out.data(), false});
    });
    state.SetIterationTime(folded);
    ratios.push_back(folded / copied);
  }
  std::nth_element(ratios.begin(), ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2), ratios.end());
  const double ratio = ratios[ratios.size() / 2];
  state.counters["time_over_memcpy"] = ratio;
  state.SetBytesProcessed(static_cast<std::int64_t>(state_bytes) * state.iterations());
  if constexpr (std::is_same_v<Kind, kind::dense>) {
    const double flops = 2 * static_cast<double>(b.s.elements() * b.s.key_dim);
    state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
  }
  if (std::is_same_v<C, gla<float>> && ratio > diagonal_limit && ratios.size() > 20) {
    state.SkipWithError(("a diagonal fold costs " + std::to_string(ratio) + " times a memcpy").c_str());
  }
}

template <class C>
void declare(const char* name) {
  benchmark::RegisterBenchmark((std::string{"fold/"} + name).c_str(), fold<C>)->UseManualTime()->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  declare<linear_attention<float>>("none/float32");
  declare<simple_gla<float>>("scalar/float32");
  declare<gla<float>>("diagonal/float32");
  declare<gla<double>>("diagonal/float64");
  declare<mamba1<float>>("elementwise/float32");
  declare<mamba1<double>>("elementwise/float64");
  declare<rotary<float>>("rotation/float32");
  declare<deltanet<float>>("dense/float32");
  declare<adjoint<deltanet<float>>>("dense_adjoint/float32");
  declare<deltanet<double>>("dense/float64");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
