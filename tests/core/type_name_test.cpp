#include <allscan/core/type_name.hpp>
#include <gtest/gtest.h>

#include <string>

namespace sample {
struct plain {};
template <class T, class U>
struct pair_of {};
}  // namespace sample

namespace {

using allscan::type_name;

TEST(type_name, is_the_type_as_written_and_nothing_else) {
  EXPECT_EQ(type_name<float>(), "float");
  EXPECT_EQ(type_name<sample::plain>(), "sample::plain");
  // Compilers differ in the spaces only.
  std::string name{type_name<sample::pair_of<float, sample::plain>>()};
  std::erase(name, ' ');
  EXPECT_EQ(name, "sample::pair_of<float,sample::plain>");
}

TEST(type_name, tells_types_apart) {
  EXPECT_NE(type_name<float>(), type_name<double>());
  EXPECT_NE((type_name<sample::pair_of<float, double>>()), (type_name<sample::pair_of<double, float>>()));
  static_assert(type_name<int>() == type_name<int>());
}

}  // namespace
