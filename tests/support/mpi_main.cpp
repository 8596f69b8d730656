/// main() of the tests that run under mpirun: every rank runs every test, rank 0 reports, and a failure on any rank counts.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>
#include <string>

namespace {

/// What the ranks other than 0 print: failures alone.
class failures_only : public testing::EmptyTestEventListener {
 public:
  explicit failures_only(int rank) : rank_{rank} {}

  void OnTestStart(const testing::TestInfo& test) override { test_ = std::string{test.test_suite_name()} + "." + test.name(); }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    const char* file = result.file_name() == nullptr ? "unknown file" : result.file_name();
    std::fprintf(stderr, "rank %d: %s: %s:%d: Failure\n%s\n", rank_, test_.c_str(), file, result.line_number(),
                 result.message());
  }

 private:
  int rank_;
  std::string test_ = "outside of a test";  // UnitTest may not be asked while it reports
};

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  testing::InitGoogleTest(&argc, argv);

  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new failures_only{rank});
  }

  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
