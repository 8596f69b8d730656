#include <allscan/combiner/models.hpp>
#include <allscan/combiner/operands.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace allscan::test {
namespace {

const state_shape shape{2, 3, 4, 5};

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const invalid_argument& e) {
    return e.what();
  }
  return "nothing thrown";
}

TEST(resolve, takes_pointers_spans_and_vectors) {
  std::vector<float> state(120);
  const std::vector<float> decay(24);
  const std::uint8_t reset[2] = {0, 1};
  const std::array<float, 120> carry{};
  const auto r = resolve<gla<float>>(
      shape, {.state = state.data(), .log_decay = std::span{decay}, .reset = reset, .initial_carry = carry});
  EXPECT_EQ(r.state, state.data());
  EXPECT_EQ(r.transition.log_decay, decay.data());
  EXPECT_EQ(r.transition.reset, reset);
  EXPECT_EQ(r.initial_carry, carry.data());
  EXPECT_TRUE(r.transition.flagged(1));
  EXPECT_FALSE(r.transition.flagged(0));
}

TEST(resolve, leaves_out_what_is_optional) {
  std::vector<float> state(120);
  std::vector<float> matrix(6 * 16);
  const auto r = resolve<deltanet<float>>(shape, {.state = state, .transition = matrix});
  EXPECT_EQ(r.transition.log_decay, nullptr);
  EXPECT_EQ(r.transition.number(3), 0.0F) << "a decay left out is one of e^0";
  EXPECT_EQ(r.transition.matrix(2, 4), matrix.data() + 32);
  EXPECT_EQ(r.transition.reset, nullptr);
  EXPECT_FALSE(r.transition.flagged(1));
  EXPECT_EQ(r.initial_carry, nullptr);
}

TEST(resolve, names_what_is_missing) {
  std::vector<float> state(120);
  std::vector<float> decay(12);
  EXPECT_NE(message_of([&] { (void)resolve<linear_attention<float>>(shape, {}); }).find("state is missing"), std::string::npos);
  EXPECT_NE(message_of([&] { (void)resolve<gla<float>>(shape, {.state = state}); }).find("log_decay is missing"),
            std::string::npos);
  EXPECT_NE(
      message_of([&] { (void)resolve<rotary<float>>(shape, {.state = state, .log_decay = decay}); }).find("angle is missing"),
      std::string::npos);
  EXPECT_NE(message_of([&] { (void)resolve<deltanet<float>>(shape, {.state = state}); }).find("transition is missing"),
            std::string::npos);
}

TEST(resolve, names_what_has_the_wrong_size) {
  std::vector<float> state(120);
  std::vector<float> wrong(7);
  const std::vector<std::uint8_t> flags(3);
  const auto message = message_of([&] { (void)resolve<gla<float>>(shape, {.state = state, .log_decay = wrong}); });
  EXPECT_NE(message.find("log_decay has 7 elements where 24 are needed"), std::string::npos) << message;
  EXPECT_THROW((void)resolve<simple_gla<float>>(shape, {.state = wrong, .log_decay = wrong}), invalid_argument);
  EXPECT_THROW((void)resolve<linear_attention<float>>(shape, {.state = state, .reset = flags}), invalid_argument);
  EXPECT_THROW((void)resolve<linear_attention<float>>(shape, {.state = state, .initial_carry = wrong}), invalid_argument);
  EXPECT_THROW((void)resolve<deltanet<float>>(shape, {.state = state, .log_decay = wrong, .transition = state}),
               invalid_argument);
}

TEST(resolve, an_empty_state_needs_no_memory) {
  EXPECT_NO_THROW((void)resolve<gla<float>>({0, 3, 4, 5}, {}));
  EXPECT_NO_THROW((void)resolve<deltanet<float>>({2, 0, 4, 5}, {.state = std::vector<float>{}}));
}

TEST(resolve_transition, looks_at_no_state) {
  std::vector<float> decay(24);
  EXPECT_EQ(resolve_transition<gla<float>>(shape, {.log_decay = decay}).log_decay, decay.data());
}

}  // namespace
}  // namespace allscan::test
