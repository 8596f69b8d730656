#include <allscan/collective/serial_pass.hpp>
#include <allscan/transport/thread.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

namespace allscan {
namespace {

using pass = serial_pass<std::uint64_t, thread::communicator>;

class serial_pass_ranks : public testing::TestWithParam<std::tuple<int, direction, bool>> {};

// state -> 3 * state + rank + 1 shows the order of the ranks, and that each saw exactly its predecessor's state.
TEST_P(serial_pass_ranks, hands_the_state_on_in_order_and_again) {
  const auto [ranks, way, windows] = GetParam();
  thread::run(ranks,
              [&, way = way](thread::communicator comm) {
                constexpr std::size_t elements = 5;
                pass p{comm, elements, way, seconds{20}};
                const int position = way == direction::forward ? comm.rank() : comm.size() - 1 - comm.rank();
                ASSERT_EQ(p.first(), position == 0);
                ASSERT_EQ(p.last(), position == comm.size() - 1);
                for (std::uint64_t round = 0; round < 3; ++round) {
                  std::vector<std::uint64_t> expected(elements);
                  for (std::size_t i = 0; i < elements; ++i) expected[i] = 100 * round + i;
                  for (int q = 0; q < position; ++q) {
                    for (std::uint64_t& x : expected) x = 3 * x + static_cast<std::uint64_t>(q) + 1;
                  }
                  if (!p.first()) {
                    const std::uint64_t* arrived = p.receive();
                    EXPECT_EQ(std::vector<std::uint64_t>(arrived, arrived + elements), expected);
                  }
                  for (std::size_t i = 0; i < elements; ++i)
                    p.outgoing()[i] = 3 * expected[i] + static_cast<std::uint64_t>(position) + 1;
                  if (!p.last()) p.send();
                }
                EXPECT_EQ(p.bytes_sent(), p.last() ? 0U : 3 * elements * sizeof(std::uint64_t));
              },
              {.windows = windows});
}

INSTANTIATE_TEST_SUITE_P(all, serial_pass_ranks,
                         testing::Combine(testing::Values(1, 2, 3, 8), testing::Values(direction::forward, direction::reverse),
                                          testing::Bool()));

TEST(serial_pass, carries_an_empty_state) {
  thread::run(2, [](thread::communicator comm) {
    pass p{comm, 0, direction::forward, seconds{20}};
    if (!p.first()) (void)p.receive();
    if (!p.last()) p.send();
  });
}

TEST(serial_pass, passes_the_bits_of_every_float_unchanged) {
  thread::run(2, [](thread::communicator comm) {
    serial_pass<float, thread::communicator> p{comm, 3, direction::forward, seconds{20}};
    const std::vector<std::uint32_t> bits{0x80000000U, 0x7fc12345U, 0x00000001U};  // -0, a NaN with payload, a denormal
    if (p.first()) {
      std::memcpy(p.outgoing(), bits.data(), 12);
      p.send();
    } else {
      EXPECT_EQ(std::memcmp(p.receive(), bits.data(), 12), 0);
    }
  });
}

TEST(serial_pass, a_silent_predecessor_is_named_and_the_pass_poisoned) {
  thread::run(3, [](thread::communicator comm) {
    pass p{comm, 4, direction::forward, seconds{0.2}};
    if (comm.rank() != 2) return;
    try {
      (void)p.receive();
      FAIL() << "received from a rank that sent nothing";
    } catch (const timeout_error& e) {
      EXPECT_EQ(e.rank(), 2);
      EXPECT_EQ(e.peer(), 1);
      EXPECT_NE(std::string{e.what()}.find("rank 1"), std::string::npos) << e.what();
    }
    EXPECT_THROW((void)p.receive(), poisoned_error);
    EXPECT_THROW(p.send(), poisoned_error);
  });
}

TEST(serial_pass, a_successor_that_takes_nothing_is_named) {
  thread::run(2, [](thread::communicator comm) {
    pass p{comm, 4, direction::reverse, seconds{0.2}};
    if (comm.rank() != 1) return;
    try {
      p.send();
      FAIL() << "handed over to a rank that took nothing";
    } catch (const timeout_error& e) {
      EXPECT_EQ(e.rank(), 1);
      EXPECT_EQ(e.peer(), 0);
    }
  });
}

}  // namespace
}  // namespace allscan
