#include <allscan/transport/mpi.hpp>
#include <support/scan_conformance.hpp>

#include <gtest/gtest.h>

namespace {

using namespace allscan;

constexpr state_shape shape{.batch = 2, .heads = 2, .key_dim = 4, .value_dim = 3};

template <class Combiner>
class ConformanceMpi : public testing::Test {};
TYPED_TEST_SUITE(ConformanceMpi, conformance::combiners);

TYPED_TEST(ConformanceMpi, Pairwise) { conformance::scan_settings<TypeParam>(mpi::communicator{MPI_COMM_WORLD}, shape, false); }

TYPED_TEST(ConformanceMpi, FullProduct_nightly) {
  conformance::scan_settings<TypeParam>(mpi::communicator{MPI_COMM_WORLD}, shape, true);
}

}  // namespace
