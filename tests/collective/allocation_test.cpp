// A scan allocates nothing after its plan's construction.
#include <allscan/transport/thread.hpp>
#include <support/allocation_cases.hpp>

namespace {

TEST(Allocation, NoneInScansOverThreads) {
  if (!allocations::counted) GTEST_SKIP() << "a sanitizer owns the allocator";
  allocations::expect_counter_works();
  for (const bool windows : {false, true}) {
    for (const int size : {1, 2, 3, 8}) {
      allscan::thread::run(size, [](allscan::thread::communicator comm) { allocations::every_kind(comm); },
                           {.windows = windows});
    }
  }
}

}  // namespace
