#include <allscan/core/parallel.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace allscan::test {
namespace {

TEST(parallel, for_calls_every_item_once) {
  for (const std::size_t items : {0U, 1U, 2U, 3U, 7U, 1000U}) {
    std::vector<std::atomic<int>> calls(items);
    parallel_for(items, [&](std::size_t i) { ++calls[i]; });
    for (std::size_t i = 0; i < items; ++i) EXPECT_EQ(1, calls[i]) << i << " of " << items;
  }
}

TEST(parallel, ranges_give_the_first_items_to_the_calling_thread) {
  std::mutex mutex;
  std::size_t covered = 0;
  int callers = 0;
  const auto caller = std::this_thread::get_id();
  parallel_ranges(100, [&](unit_range mine, bool calling_thread) {
    const std::lock_guard lock{mutex};
    EXPECT_FALSE(mine.empty());
    EXPECT_EQ(calling_thread, std::this_thread::get_id() == caller);
    EXPECT_EQ(calling_thread, mine.begin == 0);
    covered += mine.size();
    callers += calling_thread ? 1 : 0;
  });
  EXPECT_EQ(100U, covered);
  EXPECT_EQ(1, callers);
}

TEST(parallel, loops_rethrow_what_an_item_throws) {
  for (const std::size_t failing : {0U, 5U, 9U}) {
    EXPECT_THROW(parallel_for(10,
                              [&](std::size_t i) {
                                if (i == failing) throw std::runtime_error("item");
                              }),
                 std::runtime_error);
  }
}

TEST(parallel, loops_nest) {
  std::atomic<int> calls{0};
  parallel_for(3, [&](std::size_t) { parallel_for(4, [&](std::size_t) { ++calls; }); });
  EXPECT_EQ(12, calls);
}

}  // namespace
}  // namespace allscan::test
