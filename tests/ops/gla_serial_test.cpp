#include <allscan/ops/gla_serial.hpp>

#include "ops/gla_problem.hpp"

#include <allscan/transport/thread.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace allscan::test {
namespace {

template <class GateAndScalar>
class serial_mode : public testing::Test {};

using gates_and_scalars = testing::Types<std::tuple<kind::diagonal, float>, std::tuple<kind::diagonal, double>,
                                         std::tuple<kind::scalar, float>, std::tuple<kind::scalar, double>>;
TYPED_TEST_SUITE(serial_mode, gates_and_scalars);

TYPED_TEST(serial_mode, equals_one_device_to_the_bit_for_any_cut) {
  using gate = std::tuple_element_t<0, TypeParam>;
  using scalar = std::tuple_element_t<1, TypeParam>;
  const token_shape shape{.batch = 2, .tokens = 53, .heads = 2, .key_dim = 9, .value_dim = 11};
  for (const bool with_states : {true, false}) {
    const auto exact = random_problem<gate>(shape, wild_gate, with_states);
    const auto p = converted<scalar>(exact);
    const auto expected = one_device<gate>(p);
    expect_close(one_device<gate>(exact), expected, "one device");
    std::vector<boundaries> cuts{{0, 0, 53}, {0, 1, 2, 53}, {0, 7, 7, 29, 53, 53}, {0, 0, 16, 31, 31, 31, 52, 53, 53}};
    for (const int ranks : {1, 2, 3, 5, 8}) cuts.push_back(even_boundaries(53, ranks));
    for (const boundaries& bounds : cuts) {
      for (const bool with_carry : {true, false}) {
        thread::run(static_cast<int>(bounds.size()) - 1, [&](thread::communicator comm) {
          rank_run<gate, scalar, thread::communicator> run{comm, p, bounds, {.mode = operator_mode::serial}};
          run.forward();
          run.backward(with_carry);
          expect_equal(part_of<gate>(expected, shape, bounds, comm.rank()), run.result(),
                       "rank " + std::to_string(comm.rank()) + " of " + std::to_string(comm.size()));
        });
      }
    }
  }
}

TYPED_TEST(serial_mode, sends_one_state_a_boundary_and_counts_it) {
  using gate = std::tuple_element_t<0, TypeParam>;
  using scalar = std::tuple_element_t<1, TypeParam>;
  const token_shape shape{.batch = 1, .tokens = 12, .heads = 2, .key_dim = 3, .value_dim = 5};
  const auto p = converted<scalar>(random_problem<gate>(shape, mild_gate, false));
  thread::run(3, [&](thread::communicator comm) {
    rank_run<gate, scalar, thread::communicator> run{comm, p, even_boundaries(12, 3), {.mode = operator_mode::serial}};
    run.forward();
    run.backward(true);
    const std::uint64_t state = 2 * 3 * 5 * sizeof(scalar);
    const scan_statistics s = run.op().statistics();
    EXPECT_EQ(s.scans, 2U);
    EXPECT_EQ(s.bytes_sent, comm.rank() == 1 ? 2 * state : state);  // the middle rank has two neighbours to send to
  });
}

}  // namespace
}  // namespace allscan::test
