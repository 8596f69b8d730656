#include <allscan/core/concepts.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace {

/// The least that is a communicator: one rank that talks to nobody.
struct alone {
  struct request {};

  static int rank() { return 0; }
  static int size() { return 1; }
  static std::string_view name() { return "alone"; }
  allscan::endpoint& endpoint() { return *end; }
  void send(std::uint32_t, int, const std::byte*, std::size_t, request&) {}
  void receive(std::uint32_t, int, std::byte*, std::size_t, request&) {}
  bool test(request&) { return true; }
  const std::byte* data(request&) { return nullptr; }
  void release(request&) {}
  bool cancel(request&) { return true; }

  std::shared_ptr<allscan::endpoint> end = std::make_shared<allscan::endpoint>();
};

struct without_cancel : alone {
  bool cancel(request&) = delete;
};
struct not_copyable : alone {
  not_copyable(const not_copyable&) = delete;
};
struct that_writes_what_it_sends : alone {
  void send(std::uint32_t, int, std::byte*, std::size_t, request&) {}
};
struct with_the_endpoint_of_each_copy : alone {
  allscan::endpoint endpoint() { return {}; }
};

TEST(communicator, asks_for_what_the_collectives_use) {
  static_assert(allscan::communicator<alone>);
  static_assert(!allscan::communicator<int>);
  static_assert(!allscan::communicator<without_cancel>);
  static_assert(!allscan::communicator<not_copyable>);
  static_assert(!allscan::communicator<that_writes_what_it_sends>);
  static_assert(!allscan::communicator<with_the_endpoint_of_each_copy>);
}

}  // namespace
