/// Every way of calling a plan, each expected to allocate nothing.
#pragma once

#include <allscan/collective/scan_plan.hpp>
#include <allscan/combiner/models.hpp>
#include <support/allocations.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace allocations {

template <class Combiner, class Communicator>
void expect_none(Communicator& comm, Combiner combiner, allscan::algorithm algorithm, allscan::direction direction,
                 std::size_t blocks) {
  using namespace allscan;
  const state_shape shape{.batch = 2, .heads = 2, .key_dim = 4, .value_dim = 5};
  scan_plan plan{comm, combiner, shape, {.blocks = blocks, .direction = direction, .algorithm = algorithm}};
  scan_plan other{comm, combiner, shape, {.blocks = blocks, .algorithm = algorithm}};
  std::vector<float> state(shape.elements(), 1);
  std::vector<float> log_decay(shape.elements(), -0.5F);
  std::vector<float> matrices(shape.matrices() * shape.key_dim * shape.key_dim, 0.1F);
  std::vector<float> initial(shape.elements(), 2);
  std::vector<float> carry(shape.elements());
  std::vector<float> outgoing(shape.elements());
  std::vector<float> second(shape.elements());
  std::vector<std::uint8_t> reset(shape.batch, 0);
  typename decltype(plan)::operands local{.state = state.data(), .reset = reset};
  if constexpr (requires { local.log_decay = log_decay.data(); } && !std::is_same_v<typename Combiner::kind, kind::none>) {
    local.log_decay = log_decay.data();
  }
  if constexpr (std::is_same_v<typename Combiner::kind, kind::rotation>) local.angle = log_decay.data();
  if constexpr (std::is_same_v<typename Combiner::kind, kind::dense>) local.transition = matrices.data();
  auto first = local;
  if (comm.rank() == (direction == direction::forward ? 0 : comm.size() - 1)) first.initial_carry = initial.data();

  const auto all_calls = [&] {
    plan.exclusive_scan(local, carry);
    plan.inclusive_scan(local, outgoing);
    plan.exclusive_scan(first, {.carry = carry, .outgoing = outgoing});
    plan.exclusive_scan(local, state);  // in place
    auto a = plan.start_exclusive_scan(local, carry);
    auto b = other.start_exclusive_scan(local, second);
    a.progress();
    b.wait();
    a.wait();
  };
  all_calls();
  const std::size_t before = count;
  for (int i = 0; i < 10; ++i) {
    std::fill(state.begin(), state.end(), 1.F);
    std::fill(reset.begin(), reset.end(), static_cast<std::uint8_t>(i == 5));
    all_calls();
  }
  EXPECT_EQ(count - before, 0U) << plan.describe();
}

template <class Communicator>
void every_kind(Communicator comm) {
  using namespace allscan;
  for (const auto algorithm : {algorithm::chain, algorithm::gather}) {
    for (const auto direction : {direction::forward, direction::reverse}) {
      for (const std::size_t blocks : {1U, 3U, 64U}) {
        expect_none(comm, linear_attention<float>{}, algorithm, direction, blocks);
        expect_none(comm, simple_gla<float>{}, algorithm, direction, blocks);
        expect_none(comm, gla<float>{}, algorithm, direction, blocks);
        expect_none(comm, adjoint{gla<float>{}}, algorithm, direction, blocks);
        expect_none(comm, hgrn<float>{}, algorithm, direction, blocks);
        expect_none(comm, rotary<float>{}, algorithm, direction, blocks);
        expect_none(comm, gated_deltanet<float>{}, algorithm, direction, blocks);
        expect_none(comm, adjoint{gated_deltanet<float>{}}, algorithm, direction, blocks);
      }
    }
  }
}

/// The counter itself counts.
inline void expect_counter_works() {
  const std::size_t before = count;
  const std::vector<int> allocated(1000, 1);
  EXPECT_EQ(count - before, 1U) << allocated.size();
}

}  // namespace allocations
