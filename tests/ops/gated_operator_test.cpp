/// What goes wrong: unusable arguments, ranks that disagree, a silent rank. And what an operator says of itself.
#include <allscan/ops/gated_operator.hpp>

#include "ops/gla_problem.hpp"

#include <allscan/transport/thread.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace allscan::test {
namespace {

using comm = thread::communicator;
constexpr token_shape shape{.batch = 1, .tokens = 6, .heads = 2, .key_dim = 3, .value_dim = 5};
constexpr std::size_t keys = 6 * 2 * 3, values = 6 * 2 * 5, states = 2 * 3 * 5;

/// Operands of one rank, of the right sizes; a test spoils some.
struct operands {
  std::vector<float> q = std::vector<float>(keys), k = q, g = q, v = std::vector<float>(values), d_o = v;
  std::vector<float> o = v, dq = q, dk = q, dv = v, dg = q, state = std::vector<float>(states), other_state = state;

  gla_inputs<float> in() { return {.q = q, .k = k, .v = v, .log_decay = g}; }
  gla_outputs<float> out() { return {.o = o}; }
  gla_backward_inputs<float> backward_in() { return {.q = q, .k = k, .v = v, .log_decay = g, .d_o = d_o}; }
  gla_input_gradients<float> gradients() { return {.dq = dq, .dk = dk, .dv = dv, .dlog_decay = dg}; }
};

template <class Call>
void expect_refused(Call call, const std::string& words) {
  try {
    call();
    ADD_FAILURE() << "accepted, where a message about \"" << words << "\" was due";
  } catch (const invalid_argument& e) {
    EXPECT_NE(std::string{e.what()}.find(words), std::string::npos) << e.what();
  }
}

class refused_operands : public testing::TestWithParam<operator_mode> {};
INSTANTIATE_TEST_SUITE_P(modes, refused_operands, testing::Values(operator_mode::pipelined, operator_mode::serial));

// No communication happens: the peers make no call, and nothing times out. Afterwards the operator still works.
TEST_P(refused_operands, are_named_before_any_communication) {
  thread::run(3, [](comm c) {
    const int rank = c.rank();
    gla_operator op{c, shape, {.mode = GetParam(), .scan = {.timeout = seconds{20}}}};
    operands x;
    const std::string me = "rank " + std::to_string(rank);
    const auto forward = [&](auto spoil, const std::string& words) {
      auto in = x.in();
      auto out = x.out();
      spoil(in, out);
      expect_refused([&] { op.forward(in, out); }, words);
    };
    const auto backward = [&](auto spoil, const std::string& words) {
      auto in = x.backward_in();
      auto out = x.gradients();
      spoil(in, out);
      expect_refused([&] { op.backward(in, out); }, words);
    };
    std::vector<float> wrong(7);

    forward([](auto& in, auto&) { in.q = nullptr; }, me + ", forward: q is missing");
    forward([](auto& in, auto&) { in.k = {}; }, "k is missing");
    forward([&](auto& in, auto&) { in.v = wrong; }, "v has 7 elements where 60 are needed");
    forward([&](auto& in, auto&) { in.log_decay = wrong; }, "log_decay has 7 elements where 36 are needed");
    forward([](auto&, auto& out) { out.o = nullptr; }, "o is missing");
    forward([&](auto&, auto& out) { out.carry = wrong; }, "carry has 7");
    backward([](auto& in, auto&) { in.d_o = nullptr; }, me + ", backward: d_o is missing");
    backward([&](auto& in, auto&) { in.carry = wrong; }, "carry has 7");
    backward([](auto&, auto& out) { out.dq = nullptr; }, "dq is missing");
    backward([](auto&, auto& out) { out.dlog_decay = nullptr; }, "dlog_decay is missing");
    backward([&](auto&, auto& out) { out.dv = wrong; }, "dv has 7");
    if (rank == 0) {
      forward([&](auto& in, auto&) { in.initial_state = wrong; }, "initial_state has 7");
      forward([&](auto&, auto& out) { out.final_state = x.state; }, "final_state belongs to the last rank alone");
      backward([&](auto& in, auto&) { in.d_final_state = x.state; }, "d_final_state belongs to the last rank alone");
    }
    if (rank == 1) {
      forward([&](auto& in, auto&) { in.initial_state = x.state; }, "initial_state belongs to the first rank alone");
      backward([&](auto&, auto& out) { out.d_initial_state = x.state; }, "d_initial_state belongs to the first rank alone");
    }
    if (rank == 2) {
      backward([&](auto& in, auto&) { in.d_final_state = wrong; }, "d_final_state has 7");
      backward([&](auto& in, auto&) { in.initial_state = x.state; }, "initial_state belongs to the first rank alone");
    }
    op.forward(x.in(), x.out());
    op.backward(x.backward_in(), x.gradients());
  });
}

/// Rank 1 of three constructs with what `spoil` makes of the options and shape; all three must refuse with the same words.
template <class Spoil>
void expect_all_refuse(Spoil spoil, const std::string& words) {
  thread::run(3, [&](comm c) {
    gla_options options{.scan = {.timeout = seconds{20}}};
    token_shape mine = shape;
    if (c.rank() == 1) spoil(options, mine);
    expect_refused([&] { gla_operator op(c, mine, options); }, words);
  });
}

TEST(gated_operator, unusable_arguments_on_one_rank_are_refused_by_all) {
  expect_all_refuse([](auto& o, auto&) { o.chunk = 0; }, "options.chunk is 0");
  expect_all_refuse([](auto& o, auto&) { o.scale = std::numeric_limits<double>::quiet_NaN(); }, "options.scale is not finite");
  expect_all_refuse([](auto&, auto& s) { s.key_dim = 0; }, "options.scale is not finite");
  expect_all_refuse([](auto&, auto& s) { s.tokens = static_cast<std::size_t>(-1); },
                    "rank 1: an operator cannot be made here: a shape");
  expect_all_refuse([](auto& o, auto&) { o.scan.direction = direction::reverse; }, "options.scan.direction");
}

TEST(gated_operator, ranks_that_disagree_all_refuse) {
  expect_all_refuse([](auto& o, auto&) { o.mode = operator_mode::serial; }, "rank 1 has mode = serial");
  expect_all_refuse([](auto& o, auto&) { o.scale = 0.25; }, "rank 1 has scale = 0.25");
  expect_all_refuse([](auto&, auto& s) { s.value_dim = 4; }, "rank 1 has state shape = [1, 2, 3, 4]");
  expect_all_refuse([](auto& o, auto&) { o.scan.blocks = 3; }, "rank 1 has");
  expect_all_refuse([](auto& o, auto&) { o.scan.algorithm = algorithm::gather; }, "rank 1 has");
  thread::run(2, [](comm c) {
    if (c.rank() == 0) {
      expect_refused([&] { gla_operator op(c, shape); }, "rank 1 has operator = simple_gla");
    } else {
      expect_refused([&] { simple_gla_operator op(c, shape); }, "rank 0 has operator = gla");
    }
  });
  thread::run(2, [](comm c) {
    if (c.rank() == 0) {
      expect_refused([&] { gla_operator<double, comm> op(c, shape); }, "rank 0 has scalar = double");
    } else {
      expect_refused([&] { gla_operator<float, comm> op(c, shape); }, "rank 1 has scalar = float");
    }
  });
}

TEST(gated_operator, a_rank_that_never_constructs_is_reported) {
  thread::run(3, [](comm c) {
    if (c.rank() == 1) return;
    EXPECT_THROW((gla_operator{c, shape, {.scan = {.timeout = seconds{0.3}}}}), timeout_error);
  });
}

class silent_rank : public testing::TestWithParam<operator_mode> {};
INSTANTIATE_TEST_SUITE_P(modes, silent_rank, testing::Values(operator_mode::pipelined, operator_mode::serial));

// Rank 1 makes no call. Rank 2's result depends on it; rank 0 must lend it its state.
TEST_P(silent_rank, is_named_by_its_neighbours_and_the_operator_is_poisoned) {
  thread::run(3, [](comm c) {
    gla_operator op{c, shape, {.mode = GetParam(), .scan = {.algorithm = algorithm::chain, .timeout = seconds{0.3}}}};
    if (c.rank() == 1) return;
    operands x;
    try {
      op.forward(x.in(), x.out());
      ADD_FAILURE() << "rank " << c.rank() << " went on without rank 1";
    } catch (const timeout_error& e) {
      EXPECT_EQ(e.rank(), c.rank());
      EXPECT_EQ(e.peer(), 1);
    }
    EXPECT_THROW(op.forward(x.in(), x.out()), poisoned_error);
  });
}

TEST_P(silent_rank, in_backward_is_named_too) {
  thread::run(3, [](comm c) {
    gla_operator op{c, shape, {.mode = GetParam(), .scan = {.algorithm = algorithm::chain, .timeout = seconds{0.3}}}};
    operands x;
    op.forward(x.in(), {.o = x.o, .carry = x.state});
    if (c.rank() == 1) return;
    auto in = x.backward_in();
    in.carry = x.state;
    try {
      op.backward(in, x.gradients());
      ADD_FAILURE() << "rank " << c.rank() << " went on without rank 1";
    } catch (const timeout_error& e) {
      EXPECT_EQ(e.peer(), 1);
    }
  });
}

TEST(gated_operator, counts_its_scans_and_what_an_all_gather_would_have_sent) {
  thread::run(4, [](comm c) {
    gla_operator op{c, shape, {.scan = {.algorithm = algorithm::chain}}};
    EXPECT_EQ(op.statistics().scans, 0U);
    EXPECT_EQ(op.allgather_bytes(), 0U);
    operands x;
    op.forward(x.in(), {.o = x.o, .carry = x.state});
    op.backward(x.backward_in(), x.gradients());  // without the carry: one scan more
    const scan_statistics s = op.statistics();
    EXPECT_EQ(s.scans, 3U);
    const std::uint64_t state = states * sizeof(float);
    const std::uint64_t decay = 2 * 3 * sizeof(float);
    EXPECT_EQ(s.bytes_sent, (c.rank() < 3 ? 2 * state : 0) + (c.rank() > 0 ? state : 0));
    EXPECT_EQ(op.allgather_bytes(), 3 * 3 * (state + decay));
    EXPECT_GT(s.seconds_total, 0);
    EXPECT_GE(op.workspace_bytes(), 4 * state + decay);
  });
}

// A plan's workspace may serve several operators, as calls do not overlap.
TEST(gated_operator, operators_share_a_workspace) {
  thread::run(2, [](comm c) {
    const auto workspace = std::make_shared<scan_workspace>();
    gla_operator a{c, shape, {.scan = {.workspace = workspace}}};
    const std::size_t bytes = workspace->bytes();
    gla_operator b{c, shape, {.scan = {.workspace = workspace}}};
    EXPECT_EQ(workspace->bytes(), bytes);
    operands x;
    a.forward(x.in(), x.out());
    b.forward(x.in(), x.out());
    b.backward(x.backward_in(), x.gradients());
    a.backward(x.backward_in(), x.gradients());
  });
}

TEST(gated_operator, can_be_moved) {
  thread::run(2, [](comm c) {
    for (const operator_mode mode : {operator_mode::pipelined, operator_mode::serial}) {
      gla_operator first{c, shape, {.mode = mode}};
      operands x;
      first.forward(x.in(), x.out());
      gla_operator second = std::move(first);
      second.forward(x.in(), x.out());
      second.backward(x.backward_in(), x.gradients());
      EXPECT_EQ(second.statistics().scans, 4U);
    }
  });
}

}  // namespace
}  // namespace allscan::test
