/// The golden cases with a process a rank.
#include "ops/gla_golden.hpp"
#include "ops/gla_problem.hpp"

#include <allscan/transport/mpi.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <initializer_list>
#include <tuple>

namespace allscan::test {
namespace {

template <class GateAndScalar>
class gla_operators_over_mpi : public testing::Test {};

using gates_and_scalars = testing::Types<std::tuple<kind::diagonal, float>, std::tuple<kind::diagonal, double>,
                                         std::tuple<kind::scalar, float>, std::tuple<kind::scalar, double>>;
TYPED_TEST_SUITE(gla_operators_over_mpi, gates_and_scalars);

TYPED_TEST(gla_operators_over_mpi, reproduce_the_golden_cases) {
  using gate = std::tuple_element_t<0, TypeParam>;
  using scalar = std::tuple_element_t<1, TypeParam>;
  const mpi::communicator comm{MPI_COMM_WORLD};
  const auto problems = golden_problems<gate>();
  ASSERT_GE(problems.size(), 5U);
  for (const golden_problem& golden : problems) {
    const auto mine = converted<scalar>(golden.problem);
    for (const boundaries& bounds : golden.cut_for(comm.size())) {
      for (const std::size_t chunk : std::initializer_list<std::size_t>{4, 16, 64}) {
        compare_with<gate>(golden, mine, comm, bounds, chunk);
      }
    }
  }
}

TYPED_TEST(gla_operators_over_mpi, equal_one_device_to_the_bit_in_serial_mode) {
  using gate = std::tuple_element_t<0, TypeParam>;
  using scalar = std::tuple_element_t<1, TypeParam>;
  const mpi::communicator comm{MPI_COMM_WORLD};
  const token_shape shape{.batch = 2, .tokens = 53, .heads = 2, .key_dim = 9, .value_dim = 11};
  const auto p = converted<scalar>(random_problem<gate>(shape, wild_gate, true));
  const boundaries bounds = even_boundaries(53, comm.size());
  rank_run<gate, scalar, mpi::communicator> run{comm, p, bounds, {.mode = operator_mode::serial}};
  run.forward();
  run.backward(false);
  expect_equal(part_of<gate>(one_device<gate>(p), shape, bounds, comm.rank()), run.result(), "serial mode");
}

}  // namespace
}  // namespace allscan::test
