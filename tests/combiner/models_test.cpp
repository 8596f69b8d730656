#include <allscan/combiner/models.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace allscan::test {
namespace {

/// The kind of a model's summary, with what scans and training need of it.
template <class Model, class Kind>
constexpr bool has_kind = combiner<Model> && has_adjoint<Model> && composable<Model> && std::is_same_v<kind_of<Model>, Kind>;

TEST(models, have_the_kind_of_their_recurrence) {
  EXPECT_TRUE((has_kind<linear_attention<float>, kind::none>));
  EXPECT_TRUE((has_kind<retention<float>, kind::scalar>));
  EXPECT_TRUE((has_kind<simple_gla<double>, kind::scalar>));
  EXPECT_TRUE((has_kind<mamba2<float>, kind::scalar>));
  EXPECT_TRUE((has_kind<gla<float>, kind::diagonal>));
  EXPECT_TRUE((has_kind<hgrn2<float>, kind::diagonal>));
  EXPECT_TRUE((has_kind<rwkv6<float>, kind::diagonal>));
  EXPECT_TRUE((has_kind<hgrn<float>, kind::elementwise>));
  EXPECT_TRUE((has_kind<mamba1<double>, kind::elementwise>));
  EXPECT_TRUE((has_kind<rotary<float>, kind::rotation>));
  EXPECT_TRUE((has_kind<mamba3<float>, kind::rotation>));
  EXPECT_TRUE((has_kind<deltanet<float>, kind::dense>));
  EXPECT_TRUE((has_kind<gated_deltanet<float>, kind::dense>));
  EXPECT_TRUE((has_kind<kda<float>, kind::dense>));
  EXPECT_TRUE((has_kind<dplr<double>, kind::dense>));
  EXPECT_TRUE((has_kind<rwkv7<float>, kind::dense>));
}

}  // namespace
}  // namespace allscan::test
