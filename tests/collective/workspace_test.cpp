#include <allscan/collective/workspace.hpp>
#include <support/allocations.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <new>

using allscan::scan_workspace;

namespace {

TEST(Workspace, GrowsAndIsAligned) {
  scan_workspace workspace;
  EXPECT_EQ(workspace.bytes(), 0U);
  workspace.reserve(100);
  EXPECT_EQ(workspace.bytes(), 100U);
  EXPECT_EQ(reinterpret_cast<std::size_t>(workspace.data()) % scan_workspace::alignment, 0U);
  workspace.reserve(50);
  EXPECT_EQ(workspace.bytes(), 100U);
}

TEST(Workspace, IsAsBeforeWhereItCannotGrow) {
  if (!allocations::counted) GTEST_SKIP() << "a sanitizer ends the program where memory runs out";
  scan_workspace workspace;
  workspace.reserve(100);
  const std::byte* before = workspace.data();
  EXPECT_THROW(workspace.reserve(std::numeric_limits<std::size_t>::max() / 4), std::bad_alloc);
  EXPECT_EQ(workspace.data(), before);
  EXPECT_EQ(workspace.bytes(), 100U);
}

TEST(Workspace, IsHeldByOneScanAtATimeAndDoesNotGrowMeanwhile) {
  scan_workspace workspace;
  workspace.acquire();
  EXPECT_THROW(workspace.acquire(), allscan::invalid_argument);
  EXPECT_THROW(workspace.reserve(8), allscan::invalid_argument);
  workspace.release();
  workspace.acquire();
  workspace.poison();
  EXPECT_THROW(workspace.acquire(), allscan::poisoned_error);
  EXPECT_THROW(workspace.reserve(8), allscan::poisoned_error);
}

}  // namespace
