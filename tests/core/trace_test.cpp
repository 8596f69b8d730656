#include <allscan/core/trace.hpp>
#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>

// The level is read once a process, so each case runs in a process of its own.
namespace {

namespace trace = allscan::trace;

/// Writes one message of each level, then ends the process.
[[noreturn]] void write_with(const char* log) {
  setenv("ALLSCAN_LOG", log, 1);
  try {
    trace::write(trace::level::info, 3, "info message");
    trace::write(trace::level::debug, 3, "debug message");
  } catch (const allscan::invalid_argument& e) {
    std::fprintf(stderr, "refused: %s\n", e.what());
    std::exit(2);
  }
  std::fputs("end", stderr);
  std::exit(0);
}

TEST(trace, writes_nothing_by_default) {
  EXPECT_EXIT(write_with(""), testing::ExitedWithCode(0), "^end$");
  EXPECT_EXIT(write_with("off"), testing::ExitedWithCode(0), "^end$");
}

TEST(trace, writes_up_to_the_level_asked_for) {
  EXPECT_EXIT(write_with("info"), testing::ExitedWithCode(0), "^allscan: rank 3: info message\nend$");
  EXPECT_EXIT(write_with("debug"), testing::ExitedWithCode(0),
              "^allscan: rank 3: info message\nallscan: rank 3: debug message\nend$");
}

TEST(trace, refuses_other_words) {
  EXPECT_EXIT(write_with("verbose"), testing::ExitedWithCode(2), "ALLSCAN_LOG is \"verbose\": pass off, info or debug");
}

}  // namespace
