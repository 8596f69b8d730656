#include <allscan/transport/thread.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstring>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include <support/allocations.hpp>

#include "conformance.hpp"

namespace {

using allscan::thread::communicator;
using allscan::thread::group;
using allscan::thread::run;
using conformance::bytes;
using conformance::pattern;

static_assert(allscan::communicator<communicator>);
static_assert(!std::is_copy_constructible_v<communicator::request>, "a mailbox may hold its address");

class ThreadConformance : public testing::TestWithParam<std::tuple<std::size_t, int, bool>> {};

TEST_P(ThreadConformance, Holds) {
  const auto [index, ranks, windows] = GetParam();
  run(ranks, conformance::cases<communicator>()[index].run, {.windows = windows});
}

std::string name_of(const testing::TestParamInfo<ThreadConformance::ParamType>& info) {
  const auto [index, ranks, windows] = info.param;
  return std::string{conformance::cases<communicator>()[index].name} + "_ranks" + std::to_string(ranks) +
         (windows ? "_windows" : "_messages");
}

INSTANTIATE_TEST_SUITE_P(Cases, ThreadConformance,
                         testing::Combine(testing::Range(std::size_t{0}, conformance::cases<communicator>().size()),
                                          testing::Values(1, 2, 3, 8), testing::Bool()),
                         name_of);

TEST(ThreadRun, GivesEachRankAThreadOfItsOwn) {
  for (const int ranks : {1, 2, 3, 8}) {
    std::vector<std::thread::id> ids(static_cast<std::size_t>(ranks));
    run(ranks, [&](communicator comm) {
      EXPECT_EQ(comm.size(), ranks);
      ids[static_cast<std::size_t>(comm.rank())] = std::this_thread::get_id();
    });
    const std::set<std::thread::id> distinct(ids.begin(), ids.end());
    EXPECT_EQ(distinct.size(), ids.size());
    EXPECT_FALSE(distinct.contains(std::thread::id{}));
    EXPECT_FALSE(distinct.contains(std::this_thread::get_id()));
  }
}

TEST(ThreadRun, RethrowsTheLowestRanksException) {
  try {
    run(8, [](const communicator& comm) {
      if (comm.rank() >= 3) throw std::runtime_error(std::to_string(comm.rank()));
    });
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "3");
  }
}

TEST(ThreadRun, PrefersTheCauseToTheTimeoutsItProvoked) {
  const auto body = [](const communicator& comm) {
    if (comm.rank() == 2) throw allscan::invalid_argument("the cause");
    throw allscan::timeout_error("a peer is silent", comm.rank(), 2);
  };
  EXPECT_THROW(run(3, body), allscan::invalid_argument);
  EXPECT_THROW(run(2, body), allscan::timeout_error);
}

TEST(ThreadGroup, RefusesRanksThatAreNone) {
  EXPECT_THROW(group{0}, allscan::invalid_argument);
  EXPECT_THROW(group{-1}, allscan::invalid_argument);
  EXPECT_THROW(run(0, [](const communicator&) {}), allscan::invalid_argument);
  const group two{2};
  EXPECT_THROW((void)two.communicator(2), allscan::invalid_argument);
  EXPECT_THROW((void)two.communicator(-1), allscan::invalid_argument);
}

TEST(ThreadGroup, GroupsAreApart) {
  communicator a = group{1}.communicator(0);
  communicator b = group{1}.communicator(0);
  communicator::request send;
  communicator::request receive;
  bytes data(4);
  a.send(1, 0, data.data(), 4, send);
  b.receive(1, 0, data.data(), 4, receive);
  EXPECT_FALSE(a.test(send));
  EXPECT_FALSE(b.test(receive));
}

// One thread plays both ranks below: what happens is then certain.

TEST(ThreadMessages, TheReceiverHoldsACopy) {
  const group two{2};
  communicator a = two.communicator(0);
  communicator b = two.communicator(1);
  communicator::request send;
  communicator::request receive;
  bytes from = pattern(100, 1);
  bytes to(100);
  a.send(1, 1, from.data(), 100, send);
  EXPECT_FALSE(a.test(send));
  b.receive(1, 0, to.data(), 100, receive);
  EXPECT_TRUE(b.test(receive));
  EXPECT_TRUE(a.test(send)) << "a copied message does not wait for release()";
  from.assign(100, std::byte{});
  EXPECT_EQ(b.data(receive), to.data());
  EXPECT_EQ(to, pattern(100, 1));
  b.release(receive);
}

TEST(ThreadWindows, TheReceiverReadsTheSendersMemory) {
  const group two{2, {.windows = true}};
  communicator a = two.communicator(0);
  communicator b = two.communicator(1);
  const bytes from = pattern(100, 1);
  bytes to(100);
  for (const bool send_first : {true, false}) {
    communicator::request send;
    communicator::request receive;
    if (send_first) a.send(1, 1, from.data(), 100, send);
    b.receive(1, 0, to.data(), 100, receive);
    if (!send_first) a.send(1, 1, from.data(), 100, send);
    EXPECT_TRUE(b.test(receive));
    EXPECT_EQ(b.data(receive), from.data());
    EXPECT_FALSE(a.test(send)) << "the receiver still reads";
    b.release(receive);
    EXPECT_TRUE(a.test(send));
  }
  EXPECT_EQ(to, bytes(100)) << "nothing is copied";
}

TEST(ThreadWindows, AReceiveIsReleasedBeforeItIsReused) {
  const group one{1, {.windows = true}};
  communicator comm = one.communicator(0);
  communicator::request send;
  communicator::request receive;
  bytes data(4);
  comm.send(1, 0, data.data(), 4, send);
  comm.receive(1, 0, nullptr, 4, receive);
  EXPECT_TRUE(comm.test(receive));
  EXPECT_THROW(comm.receive(1, 0, nullptr, 4, receive), allscan::invalid_argument);
  comm.release(receive);
  EXPECT_TRUE(comm.test(send));
}

TEST(ThreadWindows, ALoanOutlivesACancelledSend) {
  const group two{2, {.windows = true}};
  communicator a = two.communicator(0);
  communicator b = two.communicator(1);
  const bytes from = pattern(100, 1);
  communicator::request receive;
  b.receive(1, 0, nullptr, 100, receive);
  {
    communicator::request send;
    a.send(1, 1, from.data(), 100, send);
    EXPECT_FALSE(a.cancel(send)) << "the receiver may read on";
    EXPECT_TRUE(a.test(send)) << "but the request is free";
  }
  ASSERT_TRUE(b.test(receive));
  EXPECT_EQ(b.data(receive), from.data());
  b.release(receive);
}

TEST(ThreadWindows, DestroyingAReceiveEndsItsLoan) {
  const group two{2, {.windows = true}};
  communicator a = two.communicator(0);
  communicator b = two.communicator(1);
  const bytes from(100);
  communicator::request send;
  {
    communicator::request receive;
    b.receive(1, 0, nullptr, 100, receive);
    a.send(1, 1, from.data(), 100, send);
  }
  EXPECT_TRUE(a.test(send));
}

TEST(ThreadLifetime, ADestroyedRequestMatchesNothing) {
  for (const bool windows : {false, true}) {
    const group two{2, {.windows = windows}};
    communicator a = two.communicator(0);
    communicator b = two.communicator(1);
    const bytes first = pattern(16, 1);
    const bytes second = pattern(16, 2);
    bytes lost(16);
    bytes to(16);
    {
      communicator::request send;
      communicator::request receive;
      communicator::request other;
      a.send(1, 1, first.data(), 16, send);
      a.receive(2, 1, lost.data(), 16, receive);
      a.receive(2, 1, lost.data(), 16, other);
    }
    communicator::request send;
    communicator::request receive;
    b.receive(1, 0, to.data(), 16, receive);
    EXPECT_FALSE(b.test(receive));
    a.send(1, 1, second.data(), 16, send);
    ASSERT_TRUE(b.test(receive));
    EXPECT_TRUE(std::equal(second.begin(), second.end(), b.data(receive)));
    b.release(receive);
    b.send(2, 0, first.data(), 16, send);
    EXPECT_FALSE(b.test(send));
    EXPECT_EQ(lost, bytes(16));
  }
}

TEST(ThreadLifetime, RequestsMayOutliveTheirGroup) {
  for (const bool windows : {false, true}) {
    const bytes from(16);
    bytes to(16);
    communicator::request unmatched_send;
    communicator::request unmatched_receive;
    communicator::request send;
    communicator::request receive;
    {
      communicator comm = group{1, {.windows = windows}}.communicator(0);
      comm.send(1, 0, from.data(), 16, unmatched_send);
      comm.receive(2, 0, to.data(), 16, unmatched_receive);
      comm.receive(3, 0, to.data(), 16, receive);
      comm.send(3, 0, from.data(), 16, send);
    }
  }
}

TEST(ThreadCancel, AlwaysFreesAnUnmatchedMessage) {
  const group two{2};
  communicator a = two.communicator(0);
  const bytes from(16);
  communicator::request first;
  communicator::request middle;
  communicator::request last;
  a.send(1, 1, from.data(), 16, first);
  a.send(1, 1, from.data(), 16, middle);
  a.send(1, 1, from.data(), 16, last);
  EXPECT_TRUE(a.cancel(middle));
  EXPECT_TRUE(a.test(middle));
  EXPECT_FALSE(a.test(first));
  EXPECT_TRUE(a.cancel(first));
  EXPECT_TRUE(a.cancel(last));
}

/// The side that comes second copies; the first cancels at a random moment meanwhile. What is done is whole, and memory whose
/// cancellation succeeded is neither read nor written any more.
TEST(ThreadCancel, IsSafeWhileThePeerCopies) {
  constexpr std::size_t size = std::size_t{1} << 20U;
  const bytes expected = pattern(size, 3);
  const bytes own(1000, std::byte{1});  // overwrites the end of cancelled memory, where a copy arrives last
  const bytes zeros(size);
  for (const bool windows : {false, true}) {
    std::barrier both{2};
    std::atomic<std::uint32_t> second_side{0};  // the round in which it is about to start
    run(2,
        [&](communicator comm) {
          const bool sends = comm.rank() == 0;
          std::mt19937 random{7};
          for (std::uint32_t round = 1; round <= 100; ++round) {
            const bool first = sends == (round % 2 == 0);
            bytes data = sends ? expected : zeros;
            communicator::request r;
            const auto start = [&] {
              sends ? comm.send(1, 1, data.data(), size, r) : comm.receive(1, 0, data.data(), size, r);
            };
            if (first) start();
            both.arrive_and_wait();
            if (first) {
              while (second_side != round) std::this_thread::yield();
              const allscan::deadline moment{allscan::seconds{1e-6 * static_cast<double>(1 + random() % 100)}};
              while (!moment.expired()) {
              }
            } else {
              second_side = round;
              start();
            }
            const bool done = comm.test(r);
            if (done && !sends) {
              EXPECT_EQ(std::memcmp(comm.data(r), expected.data(), size), 0);
            }
            comm.release(r);
            if (!done && comm.cancel(r)) {
              std::memcpy(data.data() + size - own.size(), own.data(), own.size());
            }
            both.arrive_and_wait();
            if (!done && !sends) {
              EXPECT_EQ(std::memcmp(data.data() + size - own.size(), own.data(), own.size()), 0)
                  << "written to after it was cancelled";
            }
          }
        },
        {.windows = windows});
  }
}

TEST(ThreadCost, MessagesAllocateNothing) {
  if (!allocations::counted) GTEST_SKIP() << "a sanitizer owns the allocator";
  for (const bool windows : {false, true}) {
    const group two{2, {.windows = windows}};
    communicator a = two.communicator(0);
    communicator b = two.communicator(1);
    const bytes from(64);
    bytes to(64);
    communicator::request sends[3];
    communicator::request receives[3];
    const std::size_t before = allocations::count;
    for (std::uint32_t channel = 1; channel < 500; ++channel) {
      for (auto& each : sends) a.send(channel, 1, from.data(), 64, each);
      for (auto& each : receives) b.receive(channel, 0, to.data(), 64, each);
      for (auto& each : receives) {
        EXPECT_TRUE(b.test(each));
        b.release(each);
      }
      for (auto& each : sends) EXPECT_TRUE(a.test(each));
      a.send(channel, 1, from.data(), 64, sends[0]);
      EXPECT_TRUE(a.cancel(sends[0]));
    }
    EXPECT_EQ(allocations::count, before);
  }
}

}  // namespace
