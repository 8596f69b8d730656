#include <allscan/core/view.hpp>
#include <gtest/gtest.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using allscan::tensor_view;

struct base {
  int b = 0;
};
struct derived : base {
  int d = 0;
};

template <class From, class T>
concept makes_view = std::convertible_to<From, tensor_view<T>>;

// A read operand takes what is const and what is not; a written one only what can be written.
static_assert(makes_view<float*, const float> && makes_view<const float*, const float>);
static_assert(makes_view<std::span<float>, const float> && makes_view<std::span<const float>, const float>);
static_assert(makes_view<std::vector<float>&, const float> && makes_view<const std::vector<float>&, const float>);
static_assert(makes_view<float*, float> && makes_view<std::vector<float>&, float> && makes_view<std::span<float>, float>);
static_assert(!makes_view<const float*, float>);
static_assert(!makes_view<std::span<const float>, float>);
static_assert(!makes_view<const std::vector<float>&, float>);

// Another element type is never reinterpreted, and an array of derived objects is no array of bases.
static_assert(!makes_view<double*, const float> && !makes_view<std::vector<double>&, const float>);
static_assert(!makes_view<void*, float> && !makes_view<int, float>);
static_assert(!makes_view<derived*, base> && !makes_view<std::vector<derived>&, base>);
static_assert(!makes_view<std::list<float>&, const float>, "a list is not contiguous");

std::string message_of(auto&& call) {
  try {
    call();
  } catch (const allscan::invalid_argument& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(tensor_view, takes_a_pointer_on_trust) {
  float x[3] = {};
  const tensor_view<const float> view = static_cast<const float*>(x);
  EXPECT_TRUE(view.given());
  EXPECT_EQ(view.require(3, "state"), x);
  EXPECT_EQ(view.require(1000, "state"), x);
  EXPECT_EQ(view.optional(1000, "state"), x);
}

TEST(tensor_view, checks_the_length_of_ranges) {
  std::vector<float> vector(6);
  std::array<float, 6> array{};
  float plain[6] = {};
  EXPECT_EQ(tensor_view<float>{vector}.require(6, "carry"), vector.data());
  EXPECT_EQ(tensor_view<float>{array}.require(6, "carry"), array.data());
  EXPECT_EQ(tensor_view<float>{std::span<float>{vector}}.require(6, "carry"), vector.data());
  EXPECT_EQ(tensor_view<float>{plain}.data(), plain);

  EXPECT_EQ(message_of([&] { (void)tensor_view<float>{vector}.require(5, "carry"); }),
            "carry has 6 elements where 5 are needed");
  EXPECT_EQ(message_of([&] { (void)tensor_view<float>{std::span{vector}.first(2)}.require(6, "carry"); }),
            "carry has 2 elements where 6 are needed");
  EXPECT_EQ(message_of([&] { (void)tensor_view<const float>{vector}.optional(7, "log_decay"); }),
            "log_decay has 6 elements where 7 are needed");
}

TEST(tensor_view, tells_what_was_not_given) {
  const float* null = nullptr;
  for (const tensor_view<const float>& view : {tensor_view<const float>{}, {nullptr}, {null}}) {
    EXPECT_FALSE(view.given());
    EXPECT_EQ(view.optional(4, "initial_carry"), nullptr);
    EXPECT_EQ(message_of([&] { (void)view.require(4, "state"); }), "state is missing: 4 elements are needed");
    EXPECT_EQ(view.require(0, "state"), nullptr) << "nothing is needed of an empty state";
  }
}

TEST(tensor_view, counts_an_empty_range_as_given) {
  const std::vector<float> empty;
  const tensor_view<const float> view = empty;
  EXPECT_TRUE(view.given());
  EXPECT_EQ(view.require(0, "state"), empty.data());
  EXPECT_EQ(message_of([&] { (void)view.optional(4, "initial_carry"); }), "initial_carry has 0 elements where 4 are needed");
  EXPECT_NE(message_of([&] { (void)view.require(4, "state"); }), "nothing was thrown");
}

TEST(tensor_view, is_a_designated_initializer) {
  struct operands {
    tensor_view<const float> state = {};
    tensor_view<const float> log_decay = {};
  };
  const std::vector<float> state(2);
  const operands given{.state = state};
  EXPECT_EQ(given.state.data(), state.data());
  EXPECT_FALSE(given.log_decay.given());
}

}  // namespace
