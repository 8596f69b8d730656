#include <allscan/collective/scan_plan.hpp>
#include <allscan/combiner/models.hpp>
#include <allscan/transport/thread.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace allscan;

namespace {

using plan_type = scan_plan<thread::communicator, gla<float>>;

constexpr state_shape shape{.heads = 2, .key_dim = 3, .value_dim = 5};
constexpr std::size_t elements = 30;
constexpr std::size_t rows = 6;

/// A message of the exception that `f` throws.
template <class Error, class Function>
std::string message_of(Function&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

void expect_contains(const std::string& text, std::initializer_list<std::string> words) {
  for (const std::string& word : words)
    EXPECT_NE(text.find(word), std::string::npos) << '"' << word << "\" is not in: " << text;
}

struct operands {
  std::vector<float> state = std::vector<float>(elements, 1);
  std::vector<float> log_decay = std::vector<float>(rows, -0.5F);
  std::vector<float> carry = std::vector<float>(elements, -7);
  std::vector<float> outgoing = std::vector<float>(elements, -7);
};

class Ranks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(ScanPlan, Ranks, testing::Values(1, 2, 3, 5, 7, 8));

TEST_P(Ranks, CarriesTheStateBeforeTheFirstToken) {
  thread::run(GetParam(), [](thread::communicator comm) {
    operands o;
    std::fill(o.state.begin(), o.state.end(), static_cast<float>(comm.rank() + 1));
    scan_plan plan{comm, gla<float>{}, shape};
    plan.exclusive_scan({.state = o.state, .log_decay = o.log_decay}, o.carry.data());
    double want = 0;
    for (int q = 0; q < comm.rank(); ++q) want = want * std::exp(-0.5) + q + 1;
    for (const float each : o.carry) EXPECT_NEAR(each, want, 1e-6 * (1 + want));
  });
}

struct running_maximum {
  using scalar = float;
  using kind = allscan::kind::none;
  static float apply(no_transition, float carry, float local) { return std::max(carry, local); }
  static float identity() { return -1e30F; }
};

TEST_P(Ranks, TheFirstRankGetsTheCombinersIdentity) {
  thread::run(GetParam(), [](thread::communicator comm) {
    std::vector<float> state{static_cast<float>(-comm.rank() - 5)};
    std::vector<float> carry{0};
    scan_plan plan{comm, running_maximum{}, state_shape{}, {.direction = direction::reverse}};
    plan.exclusive_scan({.state = state}, carry);
    EXPECT_EQ(carry[0], comm.rank() == comm.size() - 1 ? -1e30F : static_cast<float>(-comm.rank() - 6));
  });
}

TEST_P(Ranks, PlansOverlapAndAreWaitedForInAnyOrder) {
  for (const bool windows : {false, true}) {
    thread::run(GetParam(),
                [](thread::communicator comm) {
                  scan_plan forward{comm, gla<float>{}, shape, {.blocks = 3}};
                  scan_plan reverse{comm, adjoint{gla<float>{}}, shape, {.blocks = 2, .direction = direction::reverse}};
                  for (int round = 0; round < 50; ++round) {
                    operands a;
                    operands b;
                    auto first = forward.start_exclusive_scan({.state = a.state, .log_decay = a.log_decay}, a.carry);
                    auto second = reverse.start_exclusive_scan({.state = b.state, .log_decay = b.log_decay}, b.carry);
                    if (comm.rank() % 2 == 0) {
                      first.wait();
                      second.wait();
                    } else {
                      second.wait();
                      first.wait();
                    }
                    EXPECT_EQ(a.carry[0] == 0, comm.rank() == 0);
                    EXPECT_EQ(b.carry[0] == 0, comm.rank() == comm.size() - 1);
                  }
                },
                {.windows = windows});
  }
}

TEST_P(Ranks, ManyScansOfManyPlansStayInOrder) {
  thread::run(GetParam(), [](thread::communicator comm) {
    std::vector<plan_type> plans;
    const auto shared = std::make_shared<scan_workspace>();
    for (std::size_t k = 1; k <= 4; ++k)
      plans.emplace_back(comm, gla<float>{}, shape, scan_options{.blocks = k, .workspace = shared});
    for (int i = 0; i < 200; ++i) {
      operands o;
      std::fill(o.state.begin(), o.state.end(), static_cast<float>(i));
      std::fill(o.log_decay.begin(), o.log_decay.end(), 0.F);
      plans[static_cast<std::size_t>(i) % 4].exclusive_scan({.state = o.state, .log_decay = o.log_decay}, o.carry);
      EXPECT_EQ(o.carry[7], static_cast<float>(i * comm.rank()));
    }
  });
}

TEST(ScanPlan, ResultsEqualToTheBitForEveryBlockCountAlgorithmAndTransport) {
  for (const int size : {1, 2, 3, 8}) {
    std::vector<std::vector<float>> reference(static_cast<std::size_t>(size));
    for (const bool windows : {false, true}) {
      thread::run(size,
                  [&](thread::communicator comm) {
                    const state_shape wide{.batch = 2, .heads = 3, .key_dim = 5, .value_dim = 37};
                    std::vector<float> state(wide.elements());
                    std::vector<float> log_decay(wide.rows());
                    for (std::size_t i = 0; i < state.size(); ++i)
                      state[i] = std::sin(static_cast<float>(i * 31 + static_cast<std::size_t>(comm.rank()) * 77));
                    for (std::size_t i = 0; i < log_decay.size(); ++i)
                      log_decay[i] = -std::abs(std::cos(static_cast<float>(i)));
                    std::vector<float> both;
                    for (const auto algorithm : {algorithm::chain, algorithm::gather}) {
                      for (const std::size_t blocks : {0U, 1U, 2U, 5U, 64U, 5000U}) {
                        std::vector<float> carry(state.size());
                        std::vector<float> outgoing(state.size());
                        scan_plan plan{comm, gla<float>{}, wide, {.blocks = blocks, .algorithm = algorithm}};
                        plan.exclusive_scan({.state = state, .log_decay = log_decay}, {.carry = carry, .outgoing = outgoing});
                        carry.insert(carry.end(), outgoing.begin(), outgoing.end());
                        auto& want = reference[static_cast<std::size_t>(comm.rank())];
                        if (want.empty()) want = carry;
                        EXPECT_EQ(carry, want) << plan.describe();
                      }
                    }
                  },
                  {.windows = windows});
    }
  }
}

TEST(ScanPlan, ARankThatResetsSendsBeforeItReceives) {
  for (const bool windows : {false, true}) {
    for (const bool by_flag : {false, true}) {
      const thread::group group{3, {.windows = windows}};
      std::vector<std::jthread> threads;
      std::atomic<bool> last_done = false;
      for (int rank = 0; rank < 3; ++rank) {
        threads.emplace_back([&, rank] {
          operands o;
          std::fill(o.state.begin(), o.state.end(), static_cast<float>(rank + 1));
          scan_plan plan{group.communicator(rank), gla<float>{}, shape, {.blocks = 4, .timeout = seconds{20}}};
          const std::vector<std::uint8_t> reset{1};
          plan_type::operands local{.state = o.state, .log_decay = o.log_decay};
          if (rank == 1 && by_flag) local.reset = reset;
          if (rank == 1 && !by_flag) std::fill(o.log_decay.begin(), o.log_decay.end(), -std::numeric_limits<float>::infinity());
          if (rank == 0) {  // comes only after the last rank has its carry
            while (!last_done) std::this_thread::yield();
          }
          plan.exclusive_scan(local, o.carry);
          if (rank == 2) last_done = true;
          EXPECT_EQ(o.carry[0], static_cast<float>(rank));
        });
      }
    }
  }
}

TEST(ScanPlan, NothingPassesAReset) {
  thread::run(3, [](thread::communicator comm) {
    operands o;
    if (comm.rank() == 0) std::fill(o.state.begin(), o.state.end(), std::numeric_limits<float>::quiet_NaN());
    if (comm.rank() == 1) std::fill(o.log_decay.begin(), o.log_decay.end(), -std::numeric_limits<float>::infinity());
    scan_plan plan{comm, gla<float>{}, shape, {.blocks = 2}};
    plan.exclusive_scan({.state = o.state, .log_decay = o.log_decay}, o.carry);
    if (comm.rank() == 0) {
      EXPECT_EQ(o.carry[0], 0);
    } else if (comm.rank() == 1) {
      EXPECT_TRUE(std::isnan(o.carry[0]));
    } else {
      EXPECT_EQ(o.carry, std::vector<float>(elements, 1));
    }
  });
}

TEST(ScanPlan, EmptyStatesScanWithoutMemory) {
  thread::run(3, [](thread::communicator comm) {
    scan_plan plan{comm, gla<float>{}, state_shape{.heads = 0}};
    plan.exclusive_scan({}, nullptr);
    plan.inclusive_scan({}, nullptr);
  });
}

// Arguments.

TEST(ScanPlan, BadCallsThrowBeforeAnythingIsSent) {
  thread::run(2, [](thread::communicator comm) {
    scan_plan plan{comm, gla<float>{}, shape, {.timeout = seconds{20}}};
    operands o;
    std::vector<float> big(3 * elements);
    const auto fails = [&](const plan_type::operands& local, const plan_type::results& to,
                           std::initializer_list<std::string> words) {
      const std::string text = message_of<invalid_argument>([&] { plan.exclusive_scan(local, to); });
      expect_contains(text, {"rank " + std::to_string(comm.rank())});
      expect_contains(text, words);
    };
    const plan_type::operands good{.state = o.state, .log_decay = o.log_decay};
    fails({.log_decay = o.log_decay}, {.carry = o.carry}, {"state is missing"});
    fails({.state = o.state}, {.carry = o.carry}, {"log_decay is missing"});
    fails({.state = big, .log_decay = o.log_decay}, {.carry = o.carry}, {"state has 90", "30"});
    fails({.state = o.state, .log_decay = big}, {.carry = o.carry}, {"log_decay has 90", "6"});
    fails(good, {.carry = big}, {"carry has 90"});
    fails(good, {.outgoing = big}, {"outgoing has 90"});
    fails(good, {}, {"no result is asked for"});
    fails(good, {.carry = o.carry.data(), .outgoing = o.carry.data()}, {"carry and outgoing overlap"});
    fails(good, {.carry = big.data(), .outgoing = big.data() + elements - 1}, {"carry and outgoing overlap"});
    fails({.state = big.data(), .log_decay = o.log_decay}, {.carry = big.data() + 1}, {"overlaps part of state"});
    fails({.state = o.state, .log_decay = big.data() + elements}, {.carry = big.data() + 1}, {"overlaps log_decay"});
    if (comm.rank() == 1) {
      fails({.state = o.state, .log_decay = o.log_decay, .initial_carry = big.data()}, {.carry = o.carry},
            {"initial_carry", "first rank"});
    }
    plan.exclusive_scan(good, o.carry);  // and the plan still works
    EXPECT_EQ(o.carry[0], static_cast<float>(comm.rank()));
  });
}

TEST(ScanPlan, OneScanOfAPlanAtATime) {
  thread::run(2, [](thread::communicator comm) {
    const auto shared = std::make_shared<scan_workspace>();
    scan_plan plan{comm, gla<float>{}, shape, {.workspace = shared}};
    scan_plan other{comm, gla<float>{}, shape, {.workspace = shared}};
    operands o;
    operands p;
    auto scan = plan.start_exclusive_scan({.state = o.state, .log_decay = o.log_decay}, o.carry);
    if (!scan.test()) {  // rank 1 waits for rank 0, which may be done already
      expect_contains(message_of<invalid_argument>(
                          [&] { (void)plan.start_exclusive_scan({.state = p.state, .log_decay = p.log_decay}, p.carry); }),
                      {"still in flight"});
      expect_contains(message_of<invalid_argument>(
                          [&] { (void)other.start_exclusive_scan({.state = p.state, .log_decay = p.log_decay}, p.carry); }),
                      {"workspace"});
    }
    scan.wait();
    scan.wait();  // a second time is fine
    EXPECT_TRUE(scan.test());
    other.exclusive_scan({.state = p.state, .log_decay = p.log_decay}, p.carry);
  });
}

TEST(ScanPlan, BadOptionsThrowOnEveryRank) {
  thread::run(3, [](thread::communicator comm) {
    const bool odd = comm.rank() == 1;
    const auto fails = [&](const state_shape& s, const scan_options& options, const std::string& word) {
      expect_contains(message_of<invalid_argument>([&] { plan_type{comm, gla<float>{}, s, options}; }), {"rank 1", word});
    };
    fails({.heads = odd ? static_cast<std::size_t>(-3) : 1}, {}, "negative");
    fails(shape, {.timeout = odd ? seconds{-1} : seconds{20}}, "timeout");
    fails({.heads = 1000, .key_dim = 100}, {.blocks = odd ? static_cast<std::size_t>(-1) : 4}, "blocks");
    fails(shape, {.direction = odd ? static_cast<direction>(7) : direction::forward}, "direction");
    fails(shape, {.algorithm = odd ? static_cast<algorithm>(7) : algorithm::chain}, "algorithm");
  });
}

TEST(ScanPlan, DisagreementThrowsTheSameOnEveryRank) {
  thread::run(3, [](thread::communicator comm) {
    const bool odd = comm.rank() == 2;
    const auto differs = [&](const state_shape& s, const scan_options& options, const std::string& word) {
      expect_contains(message_of<invalid_argument>([&] {
                        plan_type{comm, gla<float>{}, s, options};
                      }),
                      {"rank 0 has", "rank 2 has", word});
    };
    differs({.heads = odd ? 2U : 1U}, {}, "shape");
    differs(shape, {.blocks = odd ? 2U : 4U}, "blocks");
    differs(shape, {.direction = odd ? direction::reverse : direction::forward}, "direction");
    differs(shape, {.algorithm = odd ? algorithm::gather : algorithm::automatic}, "algorithm");
    differs(shape, {.deterministic = odd}, "deterministic");
    if (odd) {
      expect_contains(message_of<invalid_argument>([&] {
                        (scan_plan{comm, simple_gla<float>{}, shape});
                      }),
                      {"kind = diagonal", "kind = scalar"});
    } else {
      expect_contains(message_of<invalid_argument>([&] {
                        (scan_plan{comm, gla<float>{}, shape});
                      }),
                      {"kind = diagonal", "kind = scalar"});
    }
    if (odd) {
      expect_contains(message_of<invalid_argument>([&] { (scan_plan{comm, gla<double>{}, shape}); }), {"combiner"});
    } else {
      expect_contains(message_of<invalid_argument>([&] { (scan_plan{comm, gla<float>{}, shape}); }), {"combiner"});
    }
    plan_type plan{
        comm, gla<float>{}, shape, {.timeout = seconds{odd ? 30 : 20}}};  // timeouts may differ, and all is well again
    operands o;
    plan.exclusive_scan({.state = o.state, .log_decay = o.log_decay}, o.carry);
  });
}

// Silence.

TEST_P(Ranks, ARankThatNeverConstructsIsATimeoutOnTheOthers) {
  const int size = GetParam();
  if (size == 1) return;
  thread::run(size, [&](thread::communicator comm) {
    if (comm.rank() == size / 2) return;
    const auto start = std::chrono::steady_clock::now();
    expect_contains(message_of<timeout_error>([&] {
                      plan_type{comm, gla<float>{}, shape, {.timeout = seconds{0.3}}};
                    }),
                    {"rank " + std::to_string(comm.rank()) + ":", "0.3 s"});
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  });
}

TEST_P(Ranks, ARankThatNeverScansIsATimeoutOnThoseBehindIt) {
  const int size = GetParam();
  if (size == 1) return;
  for (const bool windows : {false, true}) {
    const int silent = size / 2;
    const thread::group group{size, {.windows = windows}};
    const thread::group fresh{size, {.windows = windows}};
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        const auto shared = std::make_shared<scan_workspace>();
        plan_type plan{
            group.communicator(rank), gla<float>{}, shape, {.blocks = 3, .timeout = seconds{0.5}, .workspace = shared}};
        plan_type neighbour{group.communicator(rank), gla<float>{}, shape, {.timeout = seconds{0.5}, .workspace = shared}};
        operands o;
        if (rank != silent) {
          try {
            plan.exclusive_scan({.state = o.state, .log_decay = o.log_decay}, o.carry);
            EXPECT_LT(rank, silent - 1) << "rank " << rank << " cannot be done";
          } catch (const timeout_error& e) {
            EXPECT_GE(rank, silent - 1);
            EXPECT_EQ(e.rank(), rank);
            EXPECT_EQ(e.peer(), rank < silent ? silent : rank - 1);
            EXPECT_EQ(e.block(), 0);
            EXPECT_GE(e.step(), 0);
            expect_contains(e.what(), {"rank " + std::to_string(rank), "rank " + std::to_string(e.peer()), "block 0", "step"});
            expect_contains(
                message_of<poisoned_error>([&] { plan.exclusive_scan({.state = o.state, .log_decay = o.log_decay}, o.carry); }),
                {"poisoned"});
            expect_contains(message_of<poisoned_error>(
                                [&] { neighbour.exclusive_scan({.state = o.state, .log_decay = o.log_decay}, o.carry); }),
                            {"workspace"});
          }
        }
        plan_type again{fresh.communicator(rank), gla<float>{}, shape, {.timeout = seconds{20}}};
        again.exclusive_scan({.state = o.state, .log_decay = o.log_decay}, o.carry);
        EXPECT_EQ(o.carry[0] == 0, rank == 0);
      });
    }
  }
}

// A combiner's own exceptions.

struct throwing {
  using scalar = float;
  using kind = allscan::kind::none;
  static float apply(no_transition, float, float) { throw 42; }
};

TEST(ScanPlan, WhateverACombinerThrowsReachesTheCallerAndPoisonsThePlan) {
  thread::run(1, [](thread::communicator comm) {
    std::vector<float> state{1};
    std::vector<float> initial{2};
    std::vector<float> outgoing{0};
    scan_plan plan{comm, throwing{}, state_shape{}};
    const auto scan = [&] { plan.inclusive_scan({.state = state, .initial_carry = initial}, outgoing); };
    EXPECT_THROW(scan(), int);
    EXPECT_THROW(scan(), poisoned_error);
  });
}

// A rank that waits for one scan while another folds for longer than the timeout has not been left alone.
struct slow {
  using scalar = float;
  using kind = allscan::kind::none;
  static float apply(no_transition, float carry, float local) {
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
    return carry + local;
  }
};

TEST(ScanPlan, TimeSpentFoldingIsNotAPeersSilence) {
  thread::run(3, [](thread::communicator comm) {
    std::vector<float> state{1};
    std::vector<float> carry{0};
    std::vector<float> slow_carry{0};
    scan_plan quick{comm, running_maximum{}, state_shape{}, {.timeout = seconds{0.3}}};
    scan_plan folding{comm, slow{}, state_shape{}, {.timeout = seconds{20}}};
    auto first = folding.start_exclusive_scan({.state = state}, slow_carry);
    auto second = quick.start_exclusive_scan({.state = state}, carry);
    if (comm.rank() == 1) {
      second.wait();  // and meanwhile folds for 0.8 s
      first.wait();
    } else {
      first.wait();
      second.wait();
    }
    EXPECT_EQ(slow_carry[0], static_cast<float>(comm.rank()));
  });
}

// Lifetimes.

TEST(ScanPlan, PlansMoveAndHandlesOutliveThem) {
  thread::run(3, [](thread::communicator comm) {
    operands o;
    std::optional<plan_type> plan{std::in_place, comm, gla<float>{}, shape, scan_options{.blocks = 2}};
    plan_type moved = std::move(*plan);
    plan.reset();
    std::optional<started_scan> scan = moved.start_exclusive_scan({.state = o.state, .log_decay = o.log_decay}, o.carry);
    { const plan_type gone = std::move(moved); }
    started_scan handle = std::move(*scan);
    handle.wait();
    EXPECT_EQ(o.carry[0] == 0, comm.rank() == 0);
  });
}

TEST(ScanPlan, ADroppedHandleWaitsAndDoesNotThrow) {
  thread::run(2, [](thread::communicator comm) {
    operands o;
    plan_type plan{comm, gla<float>{}, shape, {.timeout = seconds{comm.rank() == 0 ? 20 : 0.2}}};
    { auto dropped = plan.start_exclusive_scan({.state = o.state, .log_decay = o.log_decay}, o.carry); }
    EXPECT_EQ(o.carry[0], static_cast<float>(comm.rank()));
    if (comm.rank() == 1) {  // rank 0 does not call again
      {
        auto dropped = plan.start_exclusive_scan({.state = o.state, .log_decay = o.log_decay}, o.carry);
      }
      expect_contains(
          message_of<poisoned_error>([&] { plan.exclusive_scan({.state = o.state, .log_decay = o.log_decay}, o.carry); }),
          {"poisoned"});
    }
  });
}

TEST(ScanPlan, StatisticsCountWhatWasSent) {
  thread::run(3, [](thread::communicator comm) {
    operands o;
    plan_type plan{comm, gla<float>{}, shape, {.blocks = 2}};
    for (int i = 0; i < 5; ++i) plan.exclusive_scan({.state = o.state, .log_decay = o.log_decay}, o.carry);
    EXPECT_EQ(plan.statistics().scans, 5U);
    EXPECT_EQ(plan.statistics().bytes_sent, comm.rank() == 2 ? 0U : 5 * elements * sizeof(float));
    EXPECT_GT(plan.statistics().seconds_total, 0);
    EXPECT_LE(plan.statistics().seconds_exposed, plan.statistics().seconds_total * 1.5 + 1e-3);
    expect_contains(plan.describe(), {"chain", "2 blocks", "diagonal", "forward", "thread"});
  });
}

}  // namespace
