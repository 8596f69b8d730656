#include <allscan/core/deadline.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace {

using allscan::deadline;
using allscan::seconds;

TEST(deadline, expires_after_its_timeout_and_not_before) {
  const auto start = deadline::clock::now();
  const deadline limit{seconds{0.05}};
  while (!limit.expired()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(deadline::clock::now() - start, std::chrono::milliseconds(50));
  EXPECT_TRUE(limit.expired());
}

TEST(deadline, of_zero_never_expires) {
  const deadline never{seconds{0}};
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(never.expired());
  EXPECT_EQ(never.timeout(), seconds{0});
}

TEST(deadline, restart_grants_the_whole_timeout_again) {
  deadline limit{seconds{0.1}};
  std::this_thread::sleep_for(std::chrono::milliseconds(110));
  ASSERT_TRUE(limit.expired());
  const auto restarted = deadline::clock::now();
  limit.restart();
  while (!limit.expired()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(deadline::clock::now() - restarted, std::chrono::milliseconds(100));
}

TEST(backoff, sleeps_only_after_many_polls) {
  allscan::backoff backoff;
  const auto start = deadline::clock::now();
  for (int i = 0; i < 10'000; ++i) backoff.pause();
  // At least some 5,000 pauses of 50 us each have slept.
  EXPECT_GE(deadline::clock::now() - start, std::chrono::milliseconds(250));
}

TEST(backoff, starts_over_after_a_reset) {
  allscan::backoff backoff;
  for (int i = 0; i < 5000; ++i) backoff.pause();
  backoff.reset();
  // Not one of the first pauses after a reset gives the core away; 60 sleeping ones take at least 3 ms. The best of many
  // rounds, since another process may take the core at any time.
  auto best = deadline::clock::duration::max();
  for (int round = 0; round < 50; ++round) {
    backoff.reset();
    const auto start = deadline::clock::now();
    for (int i = 0; i < 60; ++i) backoff.pause();
    best = std::min(best, deadline::clock::now() - start);
  }
  EXPECT_LT(best, std::chrono::milliseconds(3));
}

}  // namespace
