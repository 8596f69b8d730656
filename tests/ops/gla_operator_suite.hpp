/// What both operators must do, for a gate kind and a precision: instantiated by gla_operator_test and
/// simple_gla_operator_test.
#pragma once

#include "ops/gla_golden.hpp"
#include "ops/gla_problem.hpp"

#include <allscan/combiner/models.hpp>
#include <allscan/transport/thread.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace allscan::test {

using sizes = std::initializer_list<std::size_t>;

/// std::tuple<Gate, T>
template <class GateAndScalar>
class gla_operators : public testing::Test {
 protected:
  /// Runs the problem cut at `bounds`, one thread a rank, and compares every rank's results with its part of the oracle's.
  static void compare(const gla_problem<double>& p, const gla_result<double>& oracle, const boundaries& bounds,
                      const gla_options& options, bool with_carry, const std::string& where) {
    using gate = std::tuple_element_t<0, GateAndScalar>;
    using scalar = std::tuple_element_t<1, GateAndScalar>;
    const gla_problem<scalar> mine = converted<scalar>(p);
    const int ranks = static_cast<int>(bounds.size()) - 1;
    for (const bool windows : {false, true}) {
      thread::run(ranks,
                  [&](thread::communicator comm) {
                    rank_run<gate, scalar, thread::communicator> run{comm, mine, bounds, options};
                    run.forward();
                    run.backward(with_carry);
                    expect_close(part_of<gate>(oracle, p.shape, bounds, comm.rank()), run.result(),
                                 where + ", rank " + std::to_string(comm.rank()) + " of " + std::to_string(ranks) + " over " +
                                     std::string{comm.name()});
                  },
                  {.windows = windows});
    }
  }

  static void compare(const gla_problem<double>& p, const boundaries& bounds, const gla_options& options, bool with_carry,
                      const std::string& where) {
    compare(p, one_device<std::tuple_element_t<0, GateAndScalar>>(p), bounds, options, with_carry, where);
  }
};

TYPED_TEST_SUITE_P(gla_operators);

TYPED_TEST_P(gla_operators, reproduce_the_golden_cases) {
  using gate = std::tuple_element_t<0, TypeParam>;
  using scalar = std::tuple_element_t<1, TypeParam>;
  const auto problems = golden_problems<gate>();
  ASSERT_GE(problems.size(), 5U);
  for (const golden_problem& golden : problems) {
    for (const int ranks : {1, 2, 3, 4, 8}) {
      for (const boundaries& bounds : golden.cut_for(ranks)) {
        for (const std::size_t chunk : sizes{4, 16, 64}) {
          const auto mine = converted<scalar>(golden.problem);
          thread::run(ranks, [&](thread::communicator comm) { compare_with<gate>(golden, mine, comm, bounds, chunk); });
        }
      }
    }
  }
}

TYPED_TEST_P(gla_operators, take_uneven_and_empty_ranks) {
  const auto p = random_problem<std::tuple_element_t<0, TypeParam>>(
      {.batch = 1, .tokens = 37, .heads = 2, .key_dim = 6, .value_dim = 5}, mild_gate, true);
  for (const boundaries& bounds : std::vector<boundaries>{{0, 0, 37},
                                                          {0, 37, 37},
                                                          {0, 1, 36, 37},
                                                          {0, 0, 0, 20, 20, 37, 37, 37},
                                                          {0, 13, 13, 13, 37},
                                                          {0, 0, 1, 1, 2, 35, 37, 37, 37}}) {
    this->compare(p, bounds, {.chunk = 8}, true, "uneven");
    this->compare(p, bounds, {.chunk = 8}, false, "uneven, carry recomputed");
  }
}

TYPED_TEST_P(gla_operators, take_fewer_tokens_than_ranks) {
  for (const std::size_t tokens : sizes{0, 1, 2, 5}) {
    const auto p = random_problem<std::tuple_element_t<0, TypeParam>>(
        {.batch = 2, .tokens = tokens, .heads = 1, .key_dim = 3, .value_dim = 4}, mild_gate, true);
    for (const int ranks : {1, 2, 3, 8}) {
      this->compare(p, even_boundaries(tokens, ranks), {}, true, std::to_string(tokens) + " tokens");
    }
  }
}

TYPED_TEST_P(gla_operators, take_batches) {
  const auto p = random_problem<std::tuple_element_t<0, TypeParam>>(
      {.batch = 2, .tokens = 50, .heads = 3, .key_dim = 8, .value_dim = 7}, mild_gate, true);
  for (const int ranks : {1, 2, 3, 8}) this->compare(p, even_boundaries(50, ranks), {.chunk = 16}, true, "batch");
}

TYPED_TEST_P(gla_operators, start_from_zero_without_an_initial_state) {
  const auto p = random_problem<std::tuple_element_t<0, TypeParam>>(
      {.batch = 1, .tokens = 40, .heads = 2, .key_dim = 8, .value_dim = 6}, mild_gate, false);
  for (const int ranks : {1, 2, 3, 8}) {
    this->compare(p, even_boundaries(40, ranks), {.chunk = 16}, true, "no states");
    this->compare(p, even_boundaries(40, ranks), {.chunk = 16}, false, "no states, carry recomputed");
  }
}

// With d_o = 0 every gradient comes from the far end of the sequence, through the reverse scan.
TYPED_TEST_P(gla_operators, bring_the_final_gradient_to_every_rank) {
  auto p = random_problem<std::tuple_element_t<0, TypeParam>>(
      {.batch = 1, .tokens = 40, .heads = 2, .key_dim = 8, .value_dim = 6}, [](std::mt19937&) { return -0.01; }, true);
  std::fill(p.d_o.begin(), p.d_o.end(), 0.0);
  const auto oracle = one_device<std::tuple_element_t<0, TypeParam>>(p);
  ASSERT_GT(rms_error(std::vector<double>(oracle.d_initial_state.size()), oracle.d_initial_state), 0.1);
  for (const int ranks : {1, 2, 3, 8})
    this->compare(p, oracle, even_boundaries(40, ranks), {.chunk = 16}, true, "d_final only");
}

TYPED_TEST_P(gla_operators, take_any_gate) {
  const auto p = random_problem<std::tuple_element_t<0, TypeParam>>(
      {.batch = 1, .tokens = 90, .heads = 2, .key_dim = 8, .value_dim = 6}, wild_gate, true);
  for (const int ranks : {1, 2, 3, 8}) {
    for (const std::size_t chunk : sizes{4, 64})
      this->compare(p, even_boundaries(90, ranks), {.chunk = chunk}, true, "wild gates");
  }
}

// A log decay of minus infinity: the tokens before it leave no trace, in either direction.
TYPED_TEST_P(gla_operators, take_total_resets) {
  auto p = random_problem<std::tuple_element_t<0, TypeParam>>(
      {.batch = 1, .tokens = 30, .heads = 1, .key_dim = 4, .value_dim = 3}, mild_gate, true);
  const std::size_t width = gate_width<std::tuple_element_t<0, TypeParam>>(p.shape);
  for (const std::size_t t : sizes{11, 25}) {
    std::fill_n(p.log_decay.begin() + static_cast<std::ptrdiff_t>(t * width), width, -std::numeric_limits<double>::infinity());
  }
  for (const int ranks : {1, 2, 3, 8}) this->compare(p, even_boundaries(30, ranks), {.chunk = 8}, true, "resets");
}

TYPED_TEST_P(gla_operators, use_either_algorithm_and_any_blocks) {
  const auto p = random_problem<std::tuple_element_t<0, TypeParam>>(
      {.batch = 1, .tokens = 40, .heads = 2, .key_dim = 8, .value_dim = 6}, mild_gate, true);
  for (const algorithm a : {algorithm::chain, algorithm::gather}) {
    for (const std::size_t blocks : sizes{1, 5, 1000}) {
      this->compare(p, even_boundaries(40, 3), {.chunk = 16, .scan = {.blocks = blocks, .algorithm = a}}, false,
                    std::string{to_string(a)} + " " + std::to_string(blocks));
    }
  }
}

// Ranks whose tokens change only the carry's rounding may chunk as they like.
TYPED_TEST_P(gla_operators, let_the_chunk_differ_between_ranks) {
  using scalar = std::tuple_element_t<1, TypeParam>;
  using gate = std::tuple_element_t<0, TypeParam>;
  const auto p = random_problem<gate>({.batch = 1, .tokens = 40, .heads = 2, .key_dim = 8, .value_dim = 6}, mild_gate, true);
  const auto oracle = one_device<gate>(p);
  const auto mine = converted<scalar>(p);
  const boundaries bounds = even_boundaries(40, 3);
  thread::run(3, [&](thread::communicator comm) {
    rank_run<gate, scalar, thread::communicator> run{comm, mine, bounds, {.chunk = 3 + static_cast<std::size_t>(comm.rank())}};
    run.forward();
    run.backward(true);
    expect_close(part_of<gate>(oracle, p.shape, bounds, comm.rank()), run.result(), "chunks differ");
  });
}

// One operator serves many layers: calls with other data in between change nothing.
TYPED_TEST_P(gla_operators, are_reusable) {
  using scalar = std::tuple_element_t<1, TypeParam>;
  using gate = std::tuple_element_t<0, TypeParam>;
  const token_shape shape{.batch = 1, .tokens = 40, .heads = 2, .key_dim = 8, .value_dim = 6};
  const auto p = converted<scalar>(random_problem<gate>(shape, mild_gate, true));
  thread::run(3, [&](thread::communicator comm) {
    rank_run<gate, scalar, thread::communicator> run{comm, p, even_boundaries(40, 3), {.chunk = 16}};
    run.forward();
    run.backward(true);
    const auto first = run.result();
    run.forward();
    run.forward();
    run.backward(false);
    run.backward(true);
    expect_equal(first, run.result(), "second time, rank " + std::to_string(comm.rank()));
    EXPECT_EQ(run.op().statistics().scans, 7U);
  });
}

// The scan of another plan stays in flight across the operators' calls, and two operators alternate on one communicator.
TYPED_TEST_P(gla_operators, share_a_communicator_with_scans_in_flight) {
  using scalar = std::tuple_element_t<1, TypeParam>;
  using gate = std::tuple_element_t<0, TypeParam>;
  const token_shape shape{.batch = 1, .tokens = 40, .heads = 2, .key_dim = 8, .value_dim = 6};
  const auto p = random_problem<gate>(shape, mild_gate, true, 1);
  const auto r = random_problem<gate>(shape, mild_gate, true, 2);
  const auto oracle_p = one_device<gate>(p);
  const auto oracle_r = one_device<gate>(r);
  const auto mine_p = converted<scalar>(p);
  const auto mine_r = converted<scalar>(r);
  thread::run(3, [&](thread::communicator comm) {
    const boundaries bounds_p = even_boundaries(40, 3);
    const boundaries bounds_r{0, 7, 7, 40};
    rank_run<gate, scalar, thread::communicator> run_p{comm, mine_p, bounds_p, {.chunk = 16}};
    rank_run<gate, scalar, thread::communicator> run_r{comm, mine_r, bounds_r, {.chunk = 5}};
    scan_plan other{comm, linear_attention<float>{}, state_shape{.heads = 7}};
    const std::vector<float> ones(7, 1.0F);
    std::vector<float> before(7);

    auto scan = other.start_exclusive_scan({.state = ones}, before);
    run_p.forward();
    run_r.forward();
    run_r.backward(false);
    run_p.backward(true);
    scan.wait();

    EXPECT_EQ(before, std::vector<float>(7, static_cast<float>(comm.rank())));
    expect_close(part_of<gate>(oracle_p, shape, bounds_p, comm.rank()), run_p.result(), "first operator");
    expect_close(part_of<gate>(oracle_r, shape, bounds_r, comm.rank()), run_r.result(), "second operator");
  });
}

// Later tokens must not change earlier outputs, not even in the last bit, and not across ranks.
TYPED_TEST_P(gla_operators, are_causal_to_the_bit) {
  using scalar = std::tuple_element_t<1, TypeParam>;
  using gate = std::tuple_element_t<0, TypeParam>;
  const token_shape shape{.batch = 1, .tokens = 45, .heads = 2, .key_dim = 8, .value_dim = 6};
  const auto p = converted<scalar>(random_problem<gate>(shape, mild_gate, true));
  constexpr std::size_t changed = 20;  // inside the second of three ranks, and inside a chunk
  auto other = p;
  const std::size_t values = shape.heads * shape.value_dim;
  const std::size_t gates = gate_width<gate>(shape);
  for (std::size_t i = changed * values; i < other.v.size(); ++i) other.v[i] *= scalar(50);
  for (std::size_t i = changed * gates; i < other.log_decay.size(); ++i) other.log_decay[i] = scalar(-1000);
  const boundaries bounds = even_boundaries(45, 3);
  thread::run(3, [&](thread::communicator comm) {
    rank_run<gate, scalar, thread::communicator> run{comm, p, bounds, {.chunk = 16}};
    rank_run<gate, scalar, thread::communicator> run_other{comm, other, bounds, {.chunk = 16}};
    run.forward();
    run_other.forward();
    const unit_range part = part_of(bounds, comm.rank());
    const std::size_t kept = changed <= part.begin ? 0 : std::min(changed, part.end) - part.begin;
    for (std::size_t i = 0; i < kept * values; ++i) ASSERT_EQ(run.result().o[i], run_other.result().o[i]) << i;
    EXPECT_EQ(run.result().carry == run_other.result().carry, comm.rank() < 2);
  });
}

REGISTER_TYPED_TEST_SUITE_P(gla_operators, reproduce_the_golden_cases, take_uneven_and_empty_ranks,
                            take_fewer_tokens_than_ranks, take_batches, start_from_zero_without_an_initial_state,
                            bring_the_final_gradient_to_every_rank, take_any_gate, take_total_resets,
                            use_either_algorithm_and_any_blocks, let_the_chunk_differ_between_ranks, are_reusable,
                            share_a_communicator_with_scans_in_flight, are_causal_to_the_bit);

}  // namespace allscan::test
