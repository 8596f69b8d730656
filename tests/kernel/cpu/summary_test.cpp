#include <allscan/kernel/cpu/summary.hpp>

#include "kernel/gla_problem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace allscan::test {
namespace {

template <class Case>
class summary : public ::testing::Test {};
TYPED_TEST_SUITE(summary, kernel_cases);

constexpr token_shape shape{.batch = 2, .tokens = 37, .heads = 3, .key_dim = 6, .value_dim = 5};

TYPED_TEST(summary, is_the_state_from_zero_and_the_sum_of_the_gates) {
  using Gate = typename TypeParam::gate;
  using T = typename TypeParam::scalar;
  auto p = random_problem<Gate>(shape, mild_gate);
  std::fill(p.initial.begin(), p.initial.end(), 0.0);
  const auto x = p.template as<T>();
  const std::size_t width = kernel::gate_width<Gate>(shape.key_dim);
  std::vector<T> state(x.initial.size(), gla_result<T>::nan);
  std::vector<T> sum(shape.batch * shape.heads * width, gla_result<T>::nan);
  cpu::summarize<Gate>(shape, 8, gla_tokens<T>{.k = x.k.data(), .v = x.v.data(), .log_decay = x.log_decay.data()}, state.data(),
                       sum.data());
  expect_close(serial<Gate>(p).final, state, limits<T>::forward, "state");
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const std::size_t b = i / width / shape.heads;
    double expected = 0;
    for (std::size_t t = 0; t < shape.tokens; ++t) {
      expected += p.log_decay[((b * shape.tokens + t) * shape.heads + i / width % shape.heads) * width + i % width];
    }
    EXPECT_EQ(static_cast<T>(expected), sum[i]) << i;
  }
}

TYPED_TEST(summary, backward_is_the_gradient_on_the_incoming_state_through_the_outputs) {
  using Gate = typename TypeParam::gate;
  using T = typename TypeParam::scalar;
  auto p = random_problem<Gate>(shape, mild_gate);
  std::fill(p.d_final.begin(), p.d_final.end(), 0.0);
  const auto x = p.template as<T>();
  std::vector<T> d_state(x.initial.size(), gla_result<T>::nan);
  cpu::summarize_backward<Gate>(shape, 8, gla_tokens<T>{.q = x.q.data(), .log_decay = x.log_decay.data(), .scale = x.scale},
                                x.d_o.data(), d_state.data());
  expect_close(serial<Gate>(p).d_initial, d_state, limits<T>::backward, "d_state");
}

TYPED_TEST(summary, of_no_tokens_changes_nothing) {
  using Gate = typename TypeParam::gate;
  using T = typename TypeParam::scalar;
  const token_shape none{.batch = 2, .tokens = 0, .heads = 3, .key_dim = 6, .value_dim = 5};
  std::vector<T> state(none.state().elements(), gla_result<T>::nan);
  std::vector<T> d_state = state;
  std::vector<T> sum(6 * kernel::gate_width<Gate>(6), gla_result<T>::nan);
  cpu::summarize<Gate>(none, 8, gla_tokens<T>{}, state.data(), sum.data());
  cpu::summarize_backward<Gate>(none, 8, gla_tokens<T>{}, nullptr, d_state.data());
  EXPECT_EQ(std::vector<T>(state.size(), T(0)), state);
  EXPECT_EQ(std::vector<T>(state.size(), T(0)), d_state);
  EXPECT_EQ(std::vector<T>(sum.size(), T(0)), sum);
}

TYPED_TEST(summary, keeps_the_logarithm_of_a_decay_that_underflows) {
  using Gate = typename TypeParam::gate;
  using T = typename TypeParam::scalar;
  const auto p = random_problem<Gate>({.tokens = 40, .key_dim = 1, .value_dim = 1}, [](auto&, auto, auto, auto) {
                   return -1000.0;
                 }).template as<T>();
  T state = T(0);
  T sum = T(0);
  cpu::summarize<Gate>(p.shape, 8, p.tokens(), &state, &sum);
  EXPECT_EQ(T(-40000), sum);
  EXPECT_EQ(p.k.back() * p.v.back(), state);
}

using hook_function = std::function<void()>;

/// Calls f(name, run) for every kernel, where run(chunk, hook) runs it.
template <class Gate, class T, class Function>
void for_each_kernel(Function f) {
  const auto p = random_problem<Gate>(shape, mild_gate).template as<T>();
  gla_result<T> r{p};
  std::vector<T> sum(p.log_decay.size());
  f("summarize", [&](std::size_t chunk, const hook_function& hook) {
    cpu::summarize<Gate>(shape, chunk, p.tokens(), r.final.data(), sum.data(), hook);
  });
  f("intra_chunk",
    [&](std::size_t chunk, const hook_function& hook) { cpu::intra_chunk<Gate>(shape, chunk, p.tokens(), r.o.data(), hook); });
  f("add_carry", [&](std::size_t chunk, const hook_function& hook) {
    cpu::add_carry<Gate>(shape, chunk, p.tokens(), p.initial.data(), r.o.data(), hook);
  });
  f("summarize_backward", [&](std::size_t chunk, const hook_function& hook) {
    cpu::summarize_backward<Gate>(shape, chunk, p.tokens(), p.d_o.data(), r.d_initial.data(), hook);
  });
  f("intra_chunk_backward", [&](std::size_t chunk, const hook_function& hook) {
    cpu::intra_chunk_backward<Gate>(shape, chunk, p.tokens(), p.d_o.data(), r.gradients(), hook);
  });
  f("add_carry_backward", [&](std::size_t chunk, const hook_function& hook) {
    cpu::add_carry_backward<Gate>(shape, chunk, p.tokens(), p.initial.data(), p.d_o.data(), p.d_final.data(), r.gradients(),
                                  hook);
  });
}

/// On one thread after every chunk; on several the calling thread has at least one of them.
TYPED_TEST(summary, as_every_kernel_calls_the_hook_between_chunks_from_the_calling_thread) {
  for_each_kernel<typename TypeParam::gate, typename TypeParam::scalar>([](const char* name, auto run) {
    std::size_t calls = 0;
    const hook_function hook = [&calls, caller = std::this_thread::get_id()] {
      EXPECT_EQ(caller, std::this_thread::get_id());
      ++calls;
    };
    run(8, hook);
#ifdef _OPENMP
    EXPECT_GE(calls, 1U) << name;
    calls = 0;
    const int threads_before = omp_get_max_threads();
    omp_set_num_threads(1);
    run(8, hook);
    omp_set_num_threads(threads_before);
#endif
    EXPECT_GE(calls, shape.batch * shape.heads * 5U) << name;
  });
}

TYPED_TEST(summary, as_every_kernel_lets_the_hooks_exception_pass) {
  for_each_kernel<typename TypeParam::gate, typename TypeParam::scalar>([](const char* name, auto run) {
    const hook_function hook = [] { throw std::runtime_error("peer lost"); };
    EXPECT_THROW(run(8, hook), std::runtime_error) << name;
  });
}

TYPED_TEST(summary, as_every_kernel_refuses_a_chunk_of_no_tokens) {
  for_each_kernel<typename TypeParam::gate, typename TypeParam::scalar>([](const char* name, auto run) {
    const hook_function hook = [] {};
    EXPECT_THROW(run(0, hook), invalid_argument) << name;
  });
}

}  // namespace
}  // namespace allscan::test
