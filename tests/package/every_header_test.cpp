#include <allscan/allscan.hpp>
#include <every_header.hpp>
#include <gtest/gtest.h>

/// In every_header_again.cpp.
const void* address_of_the_environment_table();

namespace {

// That the program links says that no header defines anything twice.
TEST(every_header, shares_its_constants_between_translation_units) {
  EXPECT_EQ(address_of_the_environment_table(), &allscan::environment::table);
}

}  // namespace
