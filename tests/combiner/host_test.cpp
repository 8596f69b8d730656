#include <allscan/combiner/host.hpp>
#include <allscan/combiner/models.hpp>
#include <support/exact_combiners.hpp>
#include <support/kind_checks.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace allscan::test {
namespace {

using words = std::vector<std::uint32_t>;

TEST(apply, is_the_fold_of_the_whole_state) {
  fold_case<gla<float>> f{{2, 3, 4, 5}};
  std::vector<float> out(f.carry.size());
  apply(f.c, f.shape, f.summary.as<scan_operands<gla<float>>>(), f.carry, out);
  expect_same_bits(out, f.fold());
}

TEST(apply, may_overwrite_the_carry) {
  fold_case<gla<float>> f{{2, 3, 4, 5}};
  const auto expected = f.fold();
  apply(f.c, f.shape, f.summary.as<scan_operands<gla<float>>>(), f.carry, f.carry);
  expect_same_bits(f.carry, expected);
}

TEST(apply, refuses_what_it_cannot_use) {
  fold_case<deltanet<float>> f{{1, 1, 2, 3}};
  const auto summary = f.summary.as<scan_operands<deltanet<float>>>();
  std::vector<float> out(6);
  std::vector<float> wrong(5);
  EXPECT_THROW(apply(f.c, f.shape, summary, f.carry, f.carry), invalid_argument);
  EXPECT_THROW(apply(f.c, f.shape, summary, f.carry, f.summary.state), invalid_argument);
  EXPECT_THROW(apply(f.c, f.shape, summary, wrong, out), invalid_argument);
  EXPECT_THROW(apply(f.c, f.shape, summary, f.carry, wrong), invalid_argument);
  EXPECT_THROW(apply(f.c, f.shape, summary, nullptr, out), invalid_argument);
  EXPECT_THROW(apply(rotary<float>{}, {1, 1, 3, 2}, {.state = out, .log_decay = out.data(), .angle = out.data()}, f.carry, out),
               invalid_argument);
  auto with_carry = summary;
  with_carry.initial_carry = f.carry;
  EXPECT_THROW(apply(f.c, f.shape, with_carry, f.carry, out), invalid_argument);
}

/// Two heads of one row of one number: 5 x + 1, then 3 x + 2; the second batch row resets in one of the two.
TEST(compose, works_out_by_hand) {
  const exact_affine<kind::scalar> c;
  const state_shape shape{.batch = 2};
  const words first_state{1, 1};
  const words first_number{5, 5};
  const words second_state{2, 2};
  const words second_number{3, 3};
  const std::uint8_t row_one[] = {0, 1};
  words state(2);
  words number(2);
  std::vector<std::uint8_t> reset(2);
  compose(c, shape, {.state = first_state, .transition = first_number},
          {.state = second_state, .transition = second_number, .reset = row_one},
          {.state = state, .transition = number, .reset = reset});
  EXPECT_EQ(state, (words{3 * 1 + 2, 2}));
  EXPECT_EQ(number[0], 15U);
  EXPECT_EQ(reset, (std::vector<std::uint8_t>{0, 1}));

  compose(c, shape, {.state = first_state, .transition = first_number, .reset = row_one},
          {.state = second_state, .transition = second_number}, {.state = state, .transition = number, .reset = reset});
  EXPECT_EQ(state, (words{3 * 1 + 2, 3 * 1 + 2}));
  EXPECT_EQ(reset, (std::vector<std::uint8_t>{0, 1}));
}

/// A_later A_earlier, and A_later S_earlier + S_later; of the adjoint A_earlier A_later, and A_later^T S_earlier + S_later.
TEST(compose, multiplies_matrices_in_the_order_of_traversal) {
  const state_shape shape{.key_dim = 2};
  const words a{1, 2, 3, 4};
  const words b{5, 6, 7, 8};
  const words s{1, 2};
  const words r{10, 20};
  words matrix(4);
  words state(2);
  compose(exact_dense{}, shape, {.state = s, .transition = a}, {.state = r, .transition = b},
          {.state = state, .transition = matrix});
  EXPECT_EQ(matrix, (words{23, 34, 31, 46}));
  EXPECT_EQ(state, (words{5 + 12 + 10, 7 + 16 + 20}));
  compose(adjoint{exact_dense{}}, shape, {.state = s, .transition = a}, {.state = r, .transition = b},
          {.state = state, .transition = matrix});
  EXPECT_EQ(matrix, (words{19, 22, 43, 50}));
  EXPECT_EQ(state, (words{5 + 14 + 10, 6 + 16 + 20}));
}

/// Composing with max in place of +: a product's sums start at the identity, -inf, not at 0.
struct max_plus {
  using scalar = double;
  using kind = allscan::kind::dense;
  static double apply(double a, double carry, double best) { return std::max(best, a + carry); }
  static double identity() { return -std::numeric_limits<double>::infinity(); }
};
TEST(compose, of_a_custom_dense_combiner_starts_at_its_identity) {
  const state_shape shape{.key_dim = 2};
  const std::vector<double> a{-1, -2, -3, -4};
  const std::vector<double> s{0, 0};
  std::vector<double> matrix(4);
  std::vector<double> state(2);
  compose(max_plus{}, shape, {.state = s, .transition = a}, {.state = s, .transition = a},
          {.state = state, .transition = matrix});
  EXPECT_EQ(matrix, (std::vector<double>{-2, -3, -4, -5}));
  EXPECT_EQ(state, (std::vector<double>{0, 0}));
}

TEST(compose, adds_logs_where_their_product_underflows) {
  const state_shape shape{.key_dim = 2};
  const std::vector<float> state{1, 2};
  const std::vector<float> decay{-800, -std::numeric_limits<float>::infinity()};
  std::vector<float> out_state(2);
  std::vector<float> out_decay(2);
  compose(gla<float>{}, shape, {.state = state, .log_decay = decay}, {.state = state, .log_decay = decay},
          {.state = out_state, .log_decay = out_decay});
  EXPECT_EQ(out_decay[0], -1600.0F);
  EXPECT_EQ(out_decay[1], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(out_state, state);
}

TEST(compose, may_overwrite_either_summary) {
  for (const bool over_earlier : {true, false}) {
    fold_case<rotary<double>> a{{2, 2, 4, 3}, 1};
    fold_case<rotary<double>> b{{2, 2, 4, 3}, 2};
    summary_of<rotary<double>> out{a.shape};
    using operands = scan_operands<rotary<double>>;
    using buffers = summary_buffers<rotary<double>>;
    compose(a.c, a.shape, a.summary.as<operands>(), b.summary.as<operands>(), out.as<buffers>());
    auto& over = over_earlier ? a.summary : b.summary;
    compose(a.c, a.shape, a.summary.as<operands>(), b.summary.as<operands>(), over.as<buffers>());
    expect_same_bits(over.state, out.state);
    expect_same_bits(over.log_decay, out.log_decay);
    expect_same_bits(over.angle, out.angle);
  }
}

TEST(compose, keeps_a_dense_decay_beside_the_matrix) {
  const state_shape shape{.key_dim = 2};
  const std::vector<double> a{1, 2, 3, 4};
  const std::vector<double> s{1, 1};
  const std::vector<double> decay{-0.5};
  std::vector<double> matrix(4);
  std::vector<double> state(2);
  std::vector<double> out_decay(1);
  const deltanet<double> c;
  EXPECT_THROW(compose(c, shape, {.state = s, .transition = a}, {.state = s, .log_decay = decay, .transition = a},
                       {.state = state, .transition = matrix}),
               invalid_argument);
  compose(c, shape, {.state = s, .transition = a}, {.state = s, .log_decay = decay, .transition = a},
          {.state = state, .log_decay = out_decay, .transition = matrix});
  EXPECT_EQ(out_decay[0], -0.5);
  EXPECT_EQ(matrix, (std::vector<double>{7, 10, 15, 22}));
}

TEST(compose, refuses_what_it_cannot_use) {
  fold_case<deltanet<float>> f{{2, 1, 2, 3}};
  auto s = f.summary.as<scan_operands<deltanet<float>>>();
  summary_of<deltanet<float>> out{f.shape};
  auto to = out.as<summary_buffers<deltanet<float>>>();
  to.reset = {};
  EXPECT_THROW(compose(f.c, f.shape, s, s, to), invalid_argument) << "flags have nowhere to go";
  to = out.as<summary_buffers<deltanet<float>>>();
  to.transition = f.summary.transition.get();
  EXPECT_THROW(compose(f.c, f.shape, s, s, to), invalid_argument) << "a product over its own factor";
  to = out.as<summary_buffers<deltanet<float>>>();
  to.state = f.summary.state;
  EXPECT_THROW(compose(f.c, f.shape, s, s, to), invalid_argument);
}

TEST(host, empty_states_are_legal) {
  for (const state_shape& shape : empty_shapes()) {
    fold_case<gla<float>> f{shape};
    std::vector<float> out;
    EXPECT_NO_THROW(apply(f.c, shape, f.summary.as<scan_operands<gla<float>>>(), f.carry, out));
  }
}

}  // namespace
}  // namespace allscan::test
