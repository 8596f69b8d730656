#include <allscan/collective/scan_plan.hpp>
#include <allscan/combiner/models.hpp>
#include <allscan/transport/mpi.hpp>
#include <allscan/transport/thread.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

using namespace allscan;

namespace {

constexpr state_shape shape{.heads = 2, .key_dim = 3, .value_dim = 5};
constexpr std::size_t elements = 30;
constexpr std::size_t rows = 6;

using plan_type = scan_plan<mpi::communicator, gla<float>>;

struct operands {
  std::vector<float> state = std::vector<float>(elements, 1);
  std::vector<float> log_decay = std::vector<float>(rows, -0.5F);
  std::vector<float> carry = std::vector<float>(elements, -7);
};

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

TEST(ScanPlanMpi, PlansAreWaitedForInOppositeOrders) {
  mpi::communicator comm{MPI_COMM_WORLD};
  scan_plan forward{comm, gla<float>{}, shape, {.blocks = 3}};
  scan_plan reverse{comm, adjoint{gla<float>{}}, shape, {.blocks = 2, .direction = direction::reverse}};
  for (int round = 0; round < 50; ++round) {
    operands a;
    operands b;
    auto first = forward.start_exclusive_scan({.state = a.state, .log_decay = a.log_decay}, a.carry);
    auto second = reverse.start_exclusive_scan({.state = b.state, .log_decay = b.log_decay}, b.carry);
    if (comm.rank() % 2 == 0) {
      first.wait();
      second.wait();
    } else {
      second.wait();
      first.wait();
    }
    EXPECT_EQ(a.carry[0] == 0, comm.rank() == 0);
    EXPECT_EQ(b.carry[0] == 0, comm.rank() == comm.size() - 1);
  }
}

TEST(ScanPlanMpi, EqualsThreadsToTheBit) {
  const int size = world_size();
  const state_shape wide{.batch = 2, .heads = 3, .key_dim = 4, .value_dim = 37};
  const auto scanned = [&](auto comm, std::size_t blocks, algorithm how) {
    std::vector<float> state(wide.elements());
    std::vector<float> log_decay(wide.rows());
    for (std::size_t i = 0; i < state.size(); ++i) {
      state[i] = std::sin(static_cast<float>(i * 31 + static_cast<std::size_t>(comm.rank()) * 77));
    }
    for (std::size_t i = 0; i < log_decay.size(); ++i) log_decay[i] = -std::abs(std::cos(static_cast<float>(i)));
    std::vector<float> carry(state.size());
    scan_plan plan{comm, gla<float>{}, wide, {.blocks = blocks, .algorithm = how}};
    plan.exclusive_scan({.state = state, .log_decay = log_decay}, carry);
    return carry;
  };
  std::vector<float> want;
  thread::run(size, [&](thread::communicator comm) {
    std::vector<float> carry = scanned(comm, 3, algorithm::chain);
    if (comm.rank() == world_rank()) want = std::move(carry);
  });
  const mpi::communicator comm{MPI_COMM_WORLD};
  for (const algorithm how : {algorithm::chain, algorithm::gather}) {
    for (const std::size_t blocks : {0U, 1U, 2U, 5U, 64U}) EXPECT_EQ(scanned(comm, blocks, how), want) << blocks << " blocks";
  }
}

TEST(ScanPlanMpi, TheUsersOwnMessagesAreNotTouched) {
  mpi::communicator comm{MPI_COMM_WORLD};
  scan_plan plan{comm, gla<float>{}, shape, {.blocks = 4}};
  const int size = world_size();
  int from_left = -1;
  MPI_Request receive = MPI_REQUEST_NULL;
  MPI_Irecv(&from_left, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &receive);
  operands o;
  auto scan = plan.start_exclusive_scan({.state = o.state, .log_decay = o.log_decay}, o.carry);
  int sum = 0;
  const int one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  scan.wait();
  EXPECT_EQ(sum, size);
  const int rank = world_rank();
  MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  EXPECT_EQ(from_left, (rank + size - 1) % size);
}

TEST(ScanPlanMpi, DisagreementThrowsTheSameOnEveryRank) {
  mpi::communicator comm{MPI_COMM_WORLD};
  if (comm.size() == 1) return;
  const bool odd = comm.rank() == comm.size() - 1;
  const auto message = [&](const state_shape& s, const scan_options& options) -> std::string {
    try {
      plan_type{comm, gla<float>{}, s, options};
    } catch (const invalid_argument& e) {
      return e.what();
    }
    return "nothing was thrown";
  };
  EXPECT_NE(message({.heads = odd ? 2U : 1U}, {}).find("shape"), std::string::npos);
  EXPECT_NE(message(shape, {.blocks = odd ? 2U : 4U}).find("blocks"), std::string::npos);
  EXPECT_NE(message({.heads = odd ? static_cast<std::size_t>(-1) : 1U}, {}).find("rank " + std::to_string(comm.size() - 1)),
            std::string::npos);
  std::string text;
  try {
    if (odd) {
      scan_plan{comm, simple_gla<float>{}, shape};
    } else {
      scan_plan{comm, gla<float>{}, shape};
    }
  } catch (const invalid_argument& e) {
    text = e.what();
  }
  EXPECT_NE(text.find("kind = "), std::string::npos) << text;
}

TEST(ScanPlanMpi, ARankThatNeverConstructsIsATimeoutOnTheOthers) {
  mpi::communicator comm{MPI_COMM_WORLD};
  if (comm.size() == 1) return;
  if (comm.rank() != comm.size() / 2) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THROW((plan_type{comm, gla<float>{}, shape, {.timeout = seconds{0.5}}}), timeout_error);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
    EXPECT_THROW((plan_type{comm, gla<float>{}, shape}), poisoned_error);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  mpi::communicator fresh{MPI_COMM_WORLD};
  operands o;
  plan_type plan{fresh, gla<float>{}, shape};
  plan.exclusive_scan({.state = o.state, .log_decay = o.log_decay}, o.carry);
  EXPECT_EQ(o.carry[0] == 0, fresh.rank() == 0);
}

// The operands of scans that fail are static: a message that cannot be cancelled may still touch them.
TEST(ScanPlanMpi, ARankThatNeverScansIsATimeoutOnThoseBehindIt) {
  mpi::communicator comm{MPI_COMM_WORLD};
  if (comm.size() == 1) return;
  const state_shape large{.heads = 64, .key_dim = 64, .value_dim = 64};  // past any eager limit
  const int silent = comm.size() / 2;
  for (const state_shape& s : {shape, large}) {
    static auto& kept = *new std::vector<std::vector<float>>;
    kept.emplace_back(s.elements(), 1.F);
    const float* state = kept.back().data();
    kept.emplace_back(s.elements());
    float* carry = kept.back().data();
    const std::vector<float> log_decay(s.rows(), -0.5F);
    plan_type plan{comm, gla<float>{}, s, {.blocks = 3, .timeout = seconds{0.5}}};
    if (comm.rank() != silent) {
      try {
        plan.exclusive_scan({.state = state, .log_decay = log_decay}, carry);
        EXPECT_LT(comm.rank(), silent) << "this rank cannot be done";
      } catch (const timeout_error& e) {
        EXPECT_EQ(e.peer(), comm.rank() < silent ? comm.rank() + 1 : comm.rank() - 1);
        EXPECT_EQ(e.block(), 0);
        EXPECT_NE(std::string{e.what()}.find("rank " + std::to_string(e.peer())), std::string::npos) << e.what();
        EXPECT_NE(std::string{e.what()}.find("block 0"), std::string::npos) << e.what();
        EXPECT_THROW(plan.exclusive_scan({.state = state, .log_decay = log_decay}, carry), poisoned_error);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  mpi::communicator fresh{MPI_COMM_WORLD};
  operands o;
  plan_type again{fresh, gla<float>{}, shape};
  again.exclusive_scan({.state = o.state, .log_decay = o.log_decay}, o.carry);
  EXPECT_EQ(o.carry[0] == 0, fresh.rank() == 0);
}

}  // namespace
