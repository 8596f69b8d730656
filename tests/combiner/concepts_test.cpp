#include <allscan/combiner/adjoint.hpp>
#include <allscan/combiner/concepts.hpp>
#include <allscan/combiner/decay.hpp>
#include <allscan/combiner/kinds.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

namespace allscan::test {
namespace {

/// The least that a combiner is.
struct least {
  using scalar = double;
  using kind = allscan::kind::diagonal;
  static double apply(double a, double carry, double local) { return a * carry + local; }
};

/// With state, const members and every optional part.
struct stateful {
  using scalar = float;
  using kind = allscan::kind::scalar;
  using transition = std::int32_t;
  static constexpr unit_form unit = unit_form::element;
  float base = 2;

  float prepare(std::int32_t n) const { return n == 0 ? 1 : base * prepare(n - 1); }
  float apply(float power, float carry, float local) const { return power * carry + local; }
  bool is_reset(std::int32_t n) const { return n < 0; }
  float identity() const { return -base; }
  std::int32_t compose(std::int32_t earlier, std::int32_t later) const { return earlier + later; }
};

struct byte_state : least {
  using scalar = std::int8_t;
};
struct no_kind {
  using scalar = float;
  static float apply(float a, float carry, float local) { return a * carry + local; }
};
struct foreign_kind : least {
  using kind = int;
};
struct no_apply {
  using scalar = float;
  using kind = allscan::kind::diagonal;
};
struct apply_of_elements_for_a_rotation {
  using scalar = float;
  using kind = allscan::kind::rotation;
  static float apply(float a, float carry, float local) { return a * carry + local; }
};
struct owning_transition : least {
  using transition = std::string;
  static double apply(const std::string&, double, double local) { return local; }
};
struct not_copyable : least {
  std::unique_ptr<int> owned;
};

static_assert(combiner<least>);
static_assert(combiner<stateful>);
static_assert(combiner<decay<kind::diagonal, float>>);
static_assert(combiner<rotary<double>>);
static_assert(!combiner<int>);
static_assert(!combiner<byte_state>, "states are at least 4 bytes an element");
static_assert(!combiner<no_kind>);
static_assert(!combiner<foreign_kind>);
static_assert(!combiner<no_apply>);
static_assert(!combiner<apply_of_elements_for_a_rotation>);
static_assert(!combiner<owning_transition>);
static_assert(!combiner<not_copyable>);

static_assert(std::is_same_v<transition_of<least>, double>);
static_assert(std::is_same_v<transition_of<stateful>, std::int32_t>);
static_assert(std::is_same_v<transition_of<accumulate<float>>, no_transition>);
static_assert(std::is_same_v<transition_of<rotary<float>>, polar<float>>);
static_assert(std::is_same_v<transition_of<dense_transition<float>>, float>);
static_assert(std::is_same_v<prepared_of<least>, double>);
static_assert(std::is_same_v<prepared_of<stateful>, float>);
static_assert(std::is_same_v<prepared_of<rotary<float>>, pair<float>>);

static_assert(!is_log_space<least>);
static_assert(is_log_space<decay<kind::scalar, float>>);
static_assert(!has_adjoint<least>);
static_assert(has_adjoint<decay<kind::scalar, float>>);
static_assert(!composable<least>);
static_assert(composable<stateful>);
static_assert(composable<accumulate<float>>);
static_assert(composable<dense_transition<double>>);

static_assert(kind::diagonal::unit == unit_of<kind::diagonal>);
static_assert(kind::rotation::unit == unit_of<kind::rotation>);
static_assert(kind::dense::unit == unit_of<kind::dense>);

TEST(combiner_defaults, are_the_number_itself_no_reset_and_zero) {
  const least c;
  EXPECT_EQ(prepare(c, 0.25), 0.25);
  EXPECT_FALSE(is_reset(c, 0.0));
  EXPECT_EQ(identity(c), 0.0);
}

TEST(combiner_members, are_called_on_the_object) {
  const stateful c{.base = 3};
  EXPECT_EQ(prepare(c, 2), 9.0F);
  EXPECT_TRUE(is_reset(c, -1));
  EXPECT_EQ(identity(c), -3.0F);
}

TEST(require_combiner, holds_for_combiners) {
  static_assert(require_combiner<least>());
  static_assert(require_combiner<stateful>());
  EXPECT_TRUE((require_combiner<adjoint<rotary<float>>>()));
}

}  // namespace
}  // namespace allscan::test
