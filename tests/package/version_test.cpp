#include <allscan/core/config.hpp>
#include <gtest/gtest.h>

#include <string>

namespace {

TEST(version, is_the_one_of_the_cmake_project) {
  const int version = ALLSCAN_VERSION;
  EXPECT_EQ(std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100),
            ALLSCAN_PROJECT_VERSION);
}

}  // namespace
