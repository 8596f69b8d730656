#include <allscan/transport/thread.hpp>
#include <support/scan_conformance.hpp>

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace {

using namespace allscan;

constexpr state_shape shape{.batch = 2, .heads = 2, .key_dim = 4, .value_dim = 3};

template <class Combiner>
class Conformance : public testing::Test {};
TYPED_TEST_SUITE(Conformance, conformance::combiners);

template <class Combiner>
void on_threads(bool full, std::initializer_list<int> ranks) {
  for (const bool windows : {false, true}) {
    for (const int size : ranks) {
      thread::run(size, [&](thread::communicator comm) { conformance::scan_settings<Combiner>(comm, shape, full); },
                  {.windows = windows});
    }
  }
}

TYPED_TEST(Conformance, Pairwise) { on_threads<TypeParam>(false, {1, 2, 3, 5, 7, 8}); }

TYPED_TEST(Conformance, FullProduct_nightly) { on_threads<TypeParam>(true, {1, 2, 3, 5, 7, 8}); }

TYPED_TEST(Conformance, AwkwardShapes) {
  for (const bool windows : {false, true}) {
    for (const int size : {1, 2, 3, 8}) {
      thread::run(
          size,
          [&](thread::communicator comm) {
            for (const state_shape& s :
                 {state_shape{.heads = 1, .key_dim = 2, .value_dim = 1}, state_shape{.heads = 3, .key_dim = 2, .value_dim = 60},
                  state_shape{.batch = 3, .key_dim = 6, .value_dim = 5}, state_shape{.heads = 0, .key_dim = 2, .value_dim = 2},
                  state_shape{.batch = 0, .key_dim = 2, .value_dim = 2}, state_shape{.key_dim = 4, .value_dim = 0}}) {
              conformance::scan_settings<TypeParam>(comm, s, false);
            }
          },
          {.windows = windows});
    }
  }
}

// The everyday subset is what it says: every pair of values of two factors occurs.
TEST(ConformanceSettings, PairwiseCoversEveryPair) {
  const auto pairs = [](const std::vector<conformance::setting>& settings) {
    std::set<std::tuple<int, int, std::size_t, std::size_t>> seen;
    for (const conformance::setting& s : settings) {
      const std::size_t values[] = {static_cast<std::size_t>(s.algorithm), static_cast<std::size_t>(s.direction), s.blocks,
                                    s.adjoint ? 1U : 0U};
      for (int a = 0; a < 4; ++a) {
        for (int b = a + 1; b < 4; ++b) seen.insert({a, b, values[a], values[b]});
      }
    }
    return seen;
  };
  EXPECT_EQ(pairs(conformance::pairwise_settings(48)), pairs(conformance::every_setting(48)));
}

}  // namespace
