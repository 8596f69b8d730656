/// What every transport must do, written once: each case is called by all ranks of a group, whatever its size; with one rank
/// all messages are its own.
#pragma once

#include <allscan/core/concepts.hpp>
#include <allscan/core/deadline.hpp>
#include <allscan/core/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace conformance {

using bytes = std::vector<std::byte>;

inline constexpr std::uint32_t barrier_channel = 1000;

/// Distinct for different seeds, unless very short.
inline bytes pattern(std::size_t size, std::size_t seed) {
  bytes out(size);
  std::uint64_t x = seed * 0x9e3779b97f4a7c15U + 1;
  for (std::size_t i = 0; i < size; i += sizeof x) {
    x = (x ^ (x >> 29U)) * 6364136223846793005U + 1442695040888963407U;
    std::memcpy(out.data() + i, &x, std::min(sizeof x, size - i));
  }
  return out;
}

/// One rank's side with waiting, which the transports leave to their users.
template <class Communicator>
class side {
 public:
  using request = typename Communicator::request;

  explicit side(Communicator c) : comm{std::move(c)} {}

  [[nodiscard]] int next() const { return (comm.rank() + 1) % comm.size(); }
  [[nodiscard]] int previous() const { return (comm.rank() + comm.size() - 1) % comm.size(); }

  void wait(request& r) {
    const allscan::deadline until{allscan::seconds{60}};
    for (allscan::backoff idle; !comm.test(r); idle.pause()) {
      if (until.expired()) throw allscan::timeout_error("a message did not arrive within a minute", comm.rank(), -1);
    }
  }
  /// Waits for a receive, compares what came with `expected`, and releases it.
  void expect(request& r, const bytes& expected) {
    wait(r);
    if (!expected.empty()) {
      EXPECT_EQ(std::memcmp(comm.data(r), expected.data(), expected.size()), 0)
          << "rank " << comm.rank() << " received other than these " << expected.size() << " bytes";
    }
    comm.release(r);
  }
  void send(std::uint32_t channel, int peer, const bytes& from, request& r) {
    comm.send(channel, peer, from.data(), from.size(), r);
  }
  void receive(std::uint32_t channel, int peer, bytes& to, request& r) { comm.receive(channel, peer, to.data(), to.size(), r); }
  void barrier() {
    const auto size = static_cast<std::size_t>(comm.size());
    std::vector<request> sends(size);
    std::vector<request> receives(size);
    for (std::size_t p = 0; p < size; ++p) {
      comm.receive(barrier_channel, static_cast<int>(p), nullptr, 0, receives[p]);
      comm.send(barrier_channel, static_cast<int>(p), nullptr, 0, sends[p]);
    }
    for (request& each : receives) expect(each, {});
    for (request& each : sends) wait(each);
  }

  Communicator comm;
};

template <class Communicator>
void copies_share_one_side(Communicator comm) {
  Communicator copy = comm;
  EXPECT_EQ(&copy.endpoint(), &comm.endpoint());
  EXPECT_EQ(copy.rank(), comm.rank());
  EXPECT_EQ(copy.size(), comm.size());
  EXPECT_FALSE(comm.name().empty());
}

template <class Communicator>
void a_request_never_started_is_done(Communicator comm) {
  typename Communicator::request r;
  EXPECT_TRUE(comm.test(r));
  EXPECT_TRUE(comm.cancel(r));
}

/// Many in flight, polled last first.
template <class Communicator>
void one_channel_keeps_its_order(Communicator comm) {
  side me{comm};
  const std::vector<std::size_t> sizes{8, 0, 1, 100000, 7, 7, 7, 0, 65536, 4096, 3, 200000, 5};
  std::vector<bytes> from;
  std::vector<bytes> to;
  std::vector<typename Communicator::request> sends(sizes.size());
  std::vector<typename Communicator::request> receives(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    from.push_back(pattern(sizes[i], i + 100 * static_cast<std::size_t>(comm.rank())));
    to.emplace_back(sizes[i]);
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    me.receive(5, me.previous(), to[i], receives[i]);
    me.send(5, me.next(), from[i], sends[i]);
  }
  for (std::size_t i = sizes.size(); i-- > 0;) {
    me.expect(receives[i], pattern(sizes[i], i + 100 * static_cast<std::size_t>(me.previous())));
  }
  for (auto& each : sends) me.wait(each);
}

template <class Communicator>
void channels_do_not_disturb_each_other(Communicator comm) {
  side me{comm};
  constexpr std::size_t count = 6;
  const std::uint32_t channels[] = {1, 2, 77};
  std::vector<bytes> to(3 * count, bytes(3000));
  std::vector<bytes> from;
  std::vector<typename Communicator::request> sends(3 * count);
  std::vector<typename Communicator::request> receives(3 * count);
  for (std::size_t i = 0; i < 3 * count; ++i) from.push_back(pattern(3000, i));
  for (std::size_t i = 0; i < 3 * count; ++i) me.send(channels[i % 3], me.next(), from[i], sends[i]);
  for (std::size_t c : {2U, 0U, 1U}) {  // all of one channel before any of the next
    for (std::size_t i = c; i < 3 * count; i += 3) me.receive(channels[c], me.previous(), to[i], receives[i]);
    for (std::size_t i = c; i < 3 * count; i += 3) me.expect(receives[i], from[i]);
  }
  for (auto& each : sends) me.wait(each);
}

template <class Communicator>
void a_receive_may_be_posted_first(Communicator comm) {
  side me{comm};
  for (const std::size_t size : {0U, 16U, 300000U}) {
    const bytes from = pattern(size, size);
    bytes to(size);
    typename Communicator::request send;
    typename Communicator::request receive;
    me.receive(3, me.previous(), to, receive);
    EXPECT_FALSE(comm.test(receive)) << "nothing was sent yet";
    me.barrier();
    me.send(3, me.next(), from, send);
    me.expect(receive, from);
    me.wait(send);
  }
}

template <class Communicator>
void a_receive_may_be_posted_last(Communicator comm) {
  side me{comm};
  for (const std::size_t size : {0U, 16U, 300000U}) {
    const bytes from = pattern(size, size);
    bytes to(size);
    typename Communicator::request send;
    typename Communicator::request receive;
    me.send(3, me.next(), from, send);
    me.barrier();
    me.receive(3, me.previous(), to, receive);
    me.expect(receive, from);
    me.wait(send);
  }
}

template <class Communicator>
void every_pair_exchanges(Communicator comm) {
  side me{comm};
  const auto size = static_cast<std::size_t>(comm.size());
  const auto self = static_cast<std::size_t>(comm.rank());
  std::vector<bytes> from;
  std::vector<bytes> to(size, bytes(1000));
  std::vector<typename Communicator::request> sends(size);
  std::vector<typename Communicator::request> receives(size);
  for (std::size_t p = 0; p < size; ++p) from.push_back(pattern(1000, self * size + p));
  for (std::size_t p = 0; p < size; ++p) {
    me.receive(4, static_cast<int>(p), to[p], receives[p]);
    me.send(4, static_cast<int>(p), from[p], sends[p]);
  }
  for (std::size_t p = 0; p < size; ++p) me.expect(receives[p], pattern(1000, p * size + self));
  for (auto& each : sends) me.wait(each);
}

template <class Communicator>
void large_messages_arrive_whole(Communicator comm) {
  side me{comm};
  for (const std::size_t size : {(std::size_t{1} << 20), (std::size_t{1} << 20) + 1, (std::size_t{5} << 20) + 12345}) {
    const bytes from = pattern(size, size + static_cast<std::size_t>(comm.rank()));
    bytes to(size);
    typename Communicator::request send;
    typename Communicator::request receive;
    me.send(6, me.next(), from, send);
    me.receive(6, me.previous(), to, receive);
    me.expect(receive, pattern(size, size + static_cast<std::size_t>(me.previous())));
    me.wait(send);
  }
}

/// A done send's memory is free: it is overwritten at once, round after round.
template <class Communicator>
void requests_and_memory_are_reused(Communicator comm) {
  side me{comm};
  typename Communicator::request send;
  typename Communicator::request receive;
  bytes to(20000);
  bytes from(20000);
  for (std::size_t round = 0; round < 50; ++round) {
    from = pattern(20000, round);
    if (round % 2 == 0) me.receive(8, me.previous(), to, receive);
    me.send(8, me.next(), from, send);
    if (round % 2 == 1) me.receive(8, me.previous(), to, receive);
    me.expect(receive, pattern(20000, round));
    me.wait(send);
  }
}

template <class Communicator>
void a_cancelled_receive_swallows_nothing(Communicator comm) {
  side me{comm};
  const bytes from = pattern(5000, 9);
  bytes to(5000);
  bytes untouched(5000);
  typename Communicator::request send;
  typename Communicator::request receive;
  typename Communicator::request unmatched;
  me.receive(9, me.previous(), untouched, unmatched);
  EXPECT_TRUE(comm.cancel(unmatched));
  me.barrier();
  me.send(9, me.next(), from, send);
  me.receive(9, me.previous(), to, receive);
  me.expect(receive, from);
  me.wait(send);
  EXPECT_EQ(untouched, bytes(5000));
  EXPECT_TRUE(comm.cancel(receive)) << "a done request has nothing to cancel";
  EXPECT_TRUE(comm.cancel(send));

  me.receive(10, me.previous(), to, unmatched);  // the request itself is as good as new
  me.send(10, me.next(), from, send);
  me.expect(unmatched, from);
  me.wait(send);
}

template <class Communicator>
void sizes_that_differ_are_an_error_of_the_receiver(Communicator comm) {
  side me{comm};
  for (const std::size_t sent : {8U, 24U}) {
    // Open MPI cuts a message of a rank to itself without saying so.
    if (sent > 16 && comm.size() == 1 && comm.name() == "mpi") continue;
    const bytes from = pattern(sent, 1);
    bytes to(16);
    typename Communicator::request send;
    typename Communicator::request receive;
    me.receive(11, me.previous(), to, receive);
    me.barrier();
    me.send(11, me.next(), from, send);
    try {
      me.wait(receive);
      ADD_FAILURE() << sent << " bytes were taken for 16";
    } catch (const allscan::transport_error& e) {
      EXPECT_EQ(e.rank(), comm.rank());
      EXPECT_EQ(e.peer(), me.previous());
      EXPECT_NE(std::string{e.what()}.find("rank " + std::to_string(me.previous())), std::string::npos) << e.what();
    }
    me.wait(send);
    const bytes good = pattern(16, 2);  // the channel goes on
    me.send(11, me.next(), good, send);
    me.receive(11, me.previous(), to, receive);
    me.expect(receive, good);
    me.wait(send);
  }
}

template <class Communicator>
void misuse_is_refused(Communicator comm) {
  side me{comm};
  typename Communicator::request r;
  bytes one(1);
  EXPECT_THROW(me.send(1, comm.size(), one, r), allscan::invalid_argument);
  EXPECT_THROW(me.receive(1, -1, one, r), allscan::invalid_argument);
  me.receive(12, me.previous(), one, r);
  EXPECT_THROW(me.receive(12, me.previous(), one, r), allscan::invalid_argument);
  EXPECT_TRUE(comm.cancel(r));
}

/// Random traffic of all ranks at once, each rank starting its sends and receives in an order of its own.
template <class Communicator>
void random_traffic_arrives(Communicator comm) {
  struct message {
    int source;
    int destination;
    std::uint32_t channel;
    std::size_t size;
  };
  side me{comm};
  std::mt19937 shared{42};  // the same on every rank
  std::vector<message> messages;
  for (int i = 0; i < 40 * comm.size(); ++i) {
    const auto pick = [&](std::uint32_t n) { return static_cast<std::uint32_t>(shared() % n); };
    const auto ranks = static_cast<std::uint32_t>(comm.size());
    messages.push_back(
        {static_cast<int>(pick(ranks)), static_cast<int>(pick(ranks)), pick(3), pick(4) == 0 ? pick(100000) : pick(64)});
  }
  std::vector<std::size_t> mine[2];  // sends, receives
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].source == comm.rank()) mine[0].push_back(i);
    if (messages[i].destination == comm.rank()) mine[1].push_back(i);
  }
  std::vector<bytes> memory[2];
  std::vector<typename Communicator::request> requests[2] = {std::vector<typename Communicator::request>(mine[0].size()),
                                                             std::vector<typename Communicator::request>(mine[1].size())};
  for (const std::size_t i : mine[0]) memory[0].push_back(pattern(messages[i].size, i));
  for (const std::size_t i : mine[1]) memory[1].emplace_back(messages[i].size);
  std::mt19937 own{static_cast<std::uint32_t>(comm.rank()) + 1};
  std::size_t started[2] = {0, 0};
  while (started[0] < mine[0].size() || started[1] < mine[1].size()) {
    const std::size_t kind = started[0] == mine[0].size() ? 1 : started[1] == mine[1].size() ? 0 : own() % 2;
    const std::size_t k = started[kind]++;
    const message& m = messages[mine[kind][k]];
    if (kind == 0) {
      me.send(m.channel, m.destination, memory[0][k], requests[0][k]);
    } else {
      me.receive(m.channel, m.source, memory[1][k], requests[1][k]);
    }
  }
  for (std::size_t k = 0; k < mine[1].size(); ++k) me.expect(requests[1][k], pattern(messages[mine[1][k]].size, mine[1][k]));
  for (auto& each : requests[0]) me.wait(each);
}

template <class Communicator>
struct test_case {
  const char* name;
  void (*run)(Communicator);
};

#define CONFORMANCE_CASE(name) \
  test_case<Communicator> { #name, name<Communicator> }
template <class Communicator>
std::vector<test_case<Communicator>> cases() {
  return {CONFORMANCE_CASE(copies_share_one_side),
          CONFORMANCE_CASE(a_request_never_started_is_done),
          CONFORMANCE_CASE(one_channel_keeps_its_order),
          CONFORMANCE_CASE(channels_do_not_disturb_each_other),
          CONFORMANCE_CASE(a_receive_may_be_posted_first),
          CONFORMANCE_CASE(a_receive_may_be_posted_last),
          CONFORMANCE_CASE(every_pair_exchanges),
          CONFORMANCE_CASE(large_messages_arrive_whole),
          CONFORMANCE_CASE(requests_and_memory_are_reused),
          CONFORMANCE_CASE(a_cancelled_receive_swallows_nothing),
          CONFORMANCE_CASE(sizes_that_differ_are_an_error_of_the_receiver),
          CONFORMANCE_CASE(misuse_is_refused),
          CONFORMANCE_CASE(random_traffic_arrives)};
}
#undef CONFORMANCE_CASE

}  // namespace conformance
