// A rank that never constructs its mpi::communicator. Apart from the other tests, since the collective left unfinished keeps
// Open MPI from making further communicators.
#include <allscan/transport/mpi.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "conformance.hpp"

namespace {

TEST(MpiDeadline, ARankThatNeverConstructsTimesTheOthersOut) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm user = MPI_COMM_NULL;
  MPI_Comm spare = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &user);
  MPI_Comm_dup(MPI_COMM_WORLD, &spare);
  const bool silent = rank == size - 1;
  const bool by_environment = rank == 0;
  if (by_environment) setenv("ALLSCAN_TIMEOUT", "1", 1);
  const auto start = std::chrono::steady_clock::now();
  if (!silent) {
    try {
      const allscan::mpi::communicator comm = by_environment
                                                  ? allscan::mpi::communicator{user}
                                                  : allscan::mpi::communicator{user, {.timeout = allscan::seconds{1}}};
      ADD_FAILURE() << "constructed without rank " << size - 1;
    } catch (const allscan::timeout_error& e) {
      EXPECT_EQ(e.rank(), rank);
      EXPECT_NE(std::string{e.what()}.find("unfinished collective"), std::string::npos) << e.what();
    }
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    EXPECT_GE(waited.count(), 1.0);
    EXPECT_LT(waited.count(), 10.0);
  }
  // Other communicators go on, and main() ends normally.
  int sum = 0;
  const int one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(sum, size);
  conformance::every_pair_exchanges(allscan::mpi::communicator_ref{spare});
}

}  // namespace
