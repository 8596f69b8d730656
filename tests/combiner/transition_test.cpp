#include <allscan/combiner/transition.hpp>
#include <support/exact_combiners.hpp>
#include <support/kind_checks.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace allscan::test {
namespace {

template <class C>
class wire_form : public testing::Test {};

using combiners = testing::Types<exact_accumulate, exact_affine<kind::scalar>, exact_affine<kind::elementwise>, exact_rotation,
                                 exact_dense, accumulate<float>, decay<kind::scalar, double>, decay<kind::diagonal, float>,
                                 decay<kind::elementwise, float>, rotary<float>, rotary<double>, dense_transition<float>,
                                 dense_transition<double>, adjoint<rotary<float>>>;
TYPED_TEST_SUITE(wire_form, combiners);

struct alignas(16) aligned_block {
  std::byte bytes[16];
};

/// Folding with the numbers of a range's wire form gives the bits that the tensor's numbers give.
TYPED_TEST(wire_form, of_a_range_folds_as_the_tensor) {
  using C = TypeParam;
  using scalar = scalar_of<C>;
  using Kind = kind_of<C>;
  for (const state_shape& shape : {state_shape{3, 2, 4, 5}, state_shape{2, 1, 6, 33}, state_shape{1, 1, 2, 1}}) {
    fold_case<C> f{shape};
    f.summary.reset[0] = shape.batch > 1 ? 1 : 0;
    const auto whole = f.fold();
    std::mt19937_64 random{5};
    std::vector<scalar> out(shape.elements());
    for (const unit_range& range : random_ranges(Kind::units(shape), 6, random)) {
      const std::size_t bytes = transition_bytes<C>(shape, range);
      ASSERT_EQ(bytes % 16, 0U);
      std::vector<aligned_block> wire(bytes / 16 + 1);
      std::memset(wire.data(), 0x5A, bytes + 16);
      auto* const data = reinterpret_cast<std::byte*>(wire.data());
      pack_transition<C>(shape, range, f.operands().transition, data);
      for (std::size_t i = 0; i < 16; ++i) ASSERT_EQ(data[bytes + i], std::byte{0x5A}) << "wrote past the wire form";

      // and once more, from the wire form itself, as a rank does that hands a summary on
      std::vector<aligned_block> again(bytes / 16 + 1);
      auto* const copy = reinterpret_cast<std::byte*>(again.data());
      pack_transition<C>(shape, range, view_transition<C>(shape, range, data), copy);
      const auto t = view_transition<C>(shape, range, copy);
      Kind::fold(f.c, shape, range, t, {f.carry.data(), false}, {f.summary.state.data(), false}, {out.data(), false});
      ASSERT_EQ(Kind::resets(f.c, shape, range, t), Kind::resets(f.c, shape, range, f.operands().transition));
    }
    expect_same_bits(out, whole);
  }
}

TEST(wire_size, counts_numbers_and_flags) {
  const state_shape s{2, 3, 4, 5};
  const unit_range all{0, 120};
  EXPECT_EQ((transition_bytes<accumulate<float>>(s, all)), 16U);
  EXPECT_EQ((transition_bytes<decay<kind::scalar, float>>(s, all)), 32U + 16U);
  EXPECT_EQ((transition_bytes<decay<kind::diagonal, float>>(s, all)), 96U + 16U);
  EXPECT_EQ((transition_bytes<decay<kind::diagonal, float>>(s, {4, 6})), 16U + 16U);
  EXPECT_EQ((transition_bytes<rotary<double>>(s, {0, 12})), 2 * 96U + 16U);
  EXPECT_EQ((transition_bytes<dense_transition<float>>(s, {0, 30})), 32U + 384U + 16U);
  EXPECT_EQ((transition_bytes<exact_dense>(s, {4, 6})), 128U + 16U);
  EXPECT_EQ((transition_bytes<dense_transition<float>>(s, {7, 7})), 0U);
}

TEST(wire_size, counts_past_32_bits) {
  const state_shape s{1U << 10, 1U << 10, 1U << 10, 1U << 10};
  const unit_range all{0, std::size_t{1} << 40};
  EXPECT_EQ((transition_bytes<decay<kind::elementwise, float>>(s, all)), (std::size_t{1} << 42) + 1024);
  EXPECT_EQ((transition_bytes<dense_transition<float>>(s, {0, std::size_t{1} << 30})),
            (std::size_t{1} << 22) + (std::size_t{1} << 42) + 1024);
}

TEST(wire_form_of_nothing_given, stands_for_no_decay_and_no_reset) {
  fold_case<dense_transition<float>> f{{2, 1, 3, 4}};
  f.summary.log_decay.assign(2, 0.0F);
  const auto expected = f.fold();
  auto t = f.operands().transition;
  t.log_decay = nullptr;
  t.reset = nullptr;
  const unit_range all{0, 8};
  std::vector<aligned_block> wire(transition_bytes<dense_transition<float>>(f.shape, all) / 16);
  auto* const data = reinterpret_cast<std::byte*>(wire.data());
  pack_transition(f.shape, all, t, data);
  std::vector<float> out(24);
  kind::dense::fold(f.c, f.shape, all, view_transition<dense_transition<float>>(f.shape, all, data), {f.carry.data(), false},
                    {f.summary.state.data(), false}, {out.data(), false});
  expect_same_bits(out, expected);
}

}  // namespace
}  // namespace allscan::test
