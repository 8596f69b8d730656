#include <allscan/core/error.hpp>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace {

TEST(error, everything_thrown_on_purpose_has_one_base) {
  EXPECT_THROW(throw allscan::invalid_argument("x"), allscan::error);
  EXPECT_THROW(throw allscan::timeout_error("x", 0, 1), allscan::error);
  EXPECT_THROW(throw allscan::transport_error("x", 5, 0), allscan::error);
  EXPECT_THROW(throw allscan::poisoned_error("x"), allscan::error);
  EXPECT_THROW(throw allscan::error("x"), std::runtime_error);
}

TEST(error, timeout_says_who_waited_for_whom) {
  const allscan::timeout_error e{"rank 2 waited for rank 1", 2, 1, 7, 3};
  EXPECT_STREQ(e.what(), "rank 2 waited for rank 1");
  EXPECT_EQ(e.rank(), 2);
  EXPECT_EQ(e.peer(), 1);
  EXPECT_EQ(e.block(), 7);
  EXPECT_EQ(e.step(), 3);

  const allscan::timeout_error outside_of_a_program{"x", 0, 1};
  EXPECT_EQ(outside_of_a_program.block(), -1);
  EXPECT_EQ(outside_of_a_program.step(), -1);
}

TEST(error, transport_keeps_the_native_code) {
  const allscan::transport_error e{"MPI_Isend: MPI_ERR_COMM", 5, 2, 3};
  EXPECT_EQ(e.code(), 5);
  EXPECT_EQ(e.rank(), 2);
  EXPECT_EQ(e.peer(), 3);
  EXPECT_EQ(allscan::transport_error("x", 1, 0).peer(), -1);
}

}  // namespace
