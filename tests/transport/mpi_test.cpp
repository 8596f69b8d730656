#include <allscan/transport/mpi.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "conformance.hpp"

namespace {

using allscan::mpi::communicator;
using allscan::mpi::communicator_ref;
using conformance::bytes;
using conformance::pattern;
using conformance::side;

static_assert(allscan::communicator<communicator>);
static_assert(allscan::communicator<communicator_ref>);

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

MPI_Errhandler handler_of(MPI_Comm comm) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(comm, &handler);
  MPI_Errhandler copy = handler;
  MPI_Errhandler_free(&copy);  // gives back the reference only
  return handler;
}

/// A communicator that a user would make for allscan.
class borrowed_world {
 public:
  borrowed_world() {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  borrowed_world(const borrowed_world&) = delete;
  borrowed_world& operator=(const borrowed_world&) = delete;
  ~borrowed_world() { MPI_Comm_free(&comm_); }
  [[nodiscard]] MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

enum class flavour { owned, split, borrowed };

class MpiConformance : public testing::TestWithParam<std::tuple<std::size_t, flavour>> {};

TEST_P(MpiConformance, Holds) {
  const auto [index, how] = GetParam();
  const auto run = conformance::cases<communicator_ref>()[index].run;
  if (how == flavour::borrowed) {
    const borrowed_world world;
    run(communicator_ref{world.get()});
  } else if (how == flavour::split) {
    run(communicator{MPI_COMM_WORLD, {.split_above = 1000}});
  } else {
    run(communicator{MPI_COMM_WORLD});
  }
}

std::string name_of(const testing::TestParamInfo<MpiConformance::ParamType>& info) {
  const auto [index, how] = info.param;
  return std::string{conformance::cases<communicator_ref>()[index].name} + (how == flavour::owned   ? "_owned"
                                                                            : how == flavour::split ? "_split"
                                                                                                    : "_borrowed");
}

INSTANTIATE_TEST_SUITE_P(Cases, MpiConformance,
                         testing::Combine(testing::Range(std::size_t{0}, conformance::cases<communicator_ref>().size()),
                                          testing::Values(flavour::owned, flavour::split, flavour::borrowed)),
                         name_of);

/// Ranks pass their number around the group, so that its order shows.
template <class Communicator>
void pass_around(Communicator comm) {
  side me{comm};
  typename Communicator::request send;
  typename Communicator::request receive;
  const bytes from = pattern(64, static_cast<std::size_t>(comm.rank()));
  bytes to(64);
  me.receive(1, me.previous(), to, receive);
  me.send(1, me.next(), from, send);
  me.expect(receive, pattern(64, static_cast<std::size_t>(me.previous())));
  me.wait(send);
}

TEST(MpiGroups, PermutedRanks) {
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, world_size() - world_rank(), &reversed);
  const communicator comm{reversed};
  EXPECT_EQ(comm.size(), world_size());
  EXPECT_EQ(comm.rank(), world_size() - 1 - world_rank());
  pass_around(comm);
  MPI_Comm_free(&reversed);
  pass_around(comm);  // the duplicate has a life of its own
}

TEST(MpiGroups, SubCommunicators) {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank() % 2, world_rank(), &half);
  const communicator comm{half};
  EXPECT_EQ(comm.rank(), world_rank() / 2);
  pass_around(comm);
  communicator all{MPI_COMM_WORLD};
  pass_around(all);
  pass_around(communicator_ref{half});
  MPI_Comm_free(&half);
}

TEST(MpiGroups, OneRankAlone) {
  const communicator comm{MPI_COMM_SELF};
  EXPECT_EQ(comm.rank(), 0);
  EXPECT_EQ(comm.size(), 1);
  pass_around(comm);
}

TEST(MpiGroups, NullIsRefused) {
  EXPECT_THROW(communicator{MPI_COMM_NULL}, allscan::invalid_argument);
  EXPECT_THROW(communicator_ref{MPI_COMM_NULL}, allscan::invalid_argument);
}

TEST(MpiGroups, IntercommunicatorsAreRefused) {
  if (world_size() < 2) GTEST_SKIP() << "needs two groups";
  const bool low = world_rank() == 0;
  MPI_Comm local = MPI_COMM_NULL;
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, low ? 0 : 1, world_rank(), &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, low ? 1 : 0, 7, &inter);
  EXPECT_THROW(communicator{inter}, allscan::invalid_argument);
  EXPECT_THROW(communicator_ref{inter}, allscan::invalid_argument);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&local);
}

/// Everything that could be mixed up with our messages is in flight on the very communicator that ours was made from.
TEST(MpiUser, NothingOfTheUsersIsHit) {
  const int size = world_size();
  MPI_Request wildcard = MPI_REQUEST_NULL;
  MPI_Request barrier = MPI_REQUEST_NULL;
  MPI_Request send = MPI_REQUEST_NULL;
  int wanted = -1;
  MPI_Irecv(&wanted, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &wildcard);
  const communicator comm{MPI_COMM_WORLD};
  MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
  for (const auto& each : conformance::cases<communicator>()) {
    each.run(comm);
    int sum = 0;
    const int one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQ(sum, size);
  }
  MPI_Wait(&barrier, MPI_STATUS_IGNORE);
  int untouched = 0;
  MPI_Test(&wildcard, &untouched, MPI_STATUS_IGNORE);
  EXPECT_EQ(untouched, 0);
  // The user's messages, with tags that are channels of ours too.
  MPI_Barrier(MPI_COMM_WORLD);
  const int value = 1000 + world_rank();
  MPI_Isend(&value, 1, MPI_INT, (world_rank() + 1) % size, 1, MPI_COMM_WORLD, &send);
  pass_around(comm);
  MPI_Status status;
  MPI_Wait(&wildcard, &status);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  EXPECT_EQ(wanted, 1000 + (world_rank() + size - 1) % size);
  EXPECT_EQ(status.MPI_TAG, 1);
}

void do_nothing(MPI_Comm*, int*, ...) {}

TEST(MpiUser, ErrorHandlersAreTheUsers) {
  MPI_Errhandler own = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(do_nothing, &own);
  MPI_Comm user = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &user);
  MPI_Comm_set_errhandler(user, own);
  const communicator comm{user};
  EXPECT_EQ(handler_of(user), own);
  EXPECT_EQ(handler_of(comm.native()), MPI_ERRORS_RETURN);
  EXPECT_NE(comm.native(), user);
  {
    const communicator_ref borrowed{user};
    pass_around(borrowed);
    EXPECT_EQ(borrowed.native(), user);
    EXPECT_EQ(handler_of(user), own);
  }
  MPI_Comm_free(&user);
  MPI_Errhandler_free(&own);
}

TEST(MpiBorrowed, HandlesOnOneCommunicatorCountTogether) {
  const borrowed_world world;
  std::uint32_t first = 0;
  {
    communicator_ref a{world.get()};
    communicator_ref b{world.get()};
    EXPECT_EQ(&a.endpoint(), &b.endpoint());
    first = a.endpoint().open_channel();
    EXPECT_EQ(b.endpoint().open_channel(), first + 1);
  }
  communicator_ref later{world.get()};
  EXPECT_EQ(later.endpoint().open_channel(), first + 2) << "old messages may still be on the first channels";
  const borrowed_world another;
  EXPECT_NE(&communicator_ref{another.get()}.endpoint(), &later.endpoint());
}

TEST(MpiBorrowed, AHandleSurvivesItsCommunicator) {
  MPI_Comm user = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_SELF, &user);
  communicator_ref comm{user};
  MPI_Comm_free(&user);
  EXPECT_EQ(comm.size(), 1);
  EXPECT_EQ(comm.endpoint().open_channel(), 1U);
}

TEST(MpiLimits, ChannelsEndWhereTagsDo) {
  void* bound = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&bound), &found);
  ASSERT_NE(found, 0);
  const auto largest = static_cast<std::uint32_t>(*static_cast<int*>(bound));
  communicator comm{MPI_COMM_SELF};
  side me{comm};
  communicator::request send;
  communicator::request receive;
  const bytes from = pattern(4, 1);
  bytes to(4);
  me.send(largest, 0, from, send);
  me.receive(largest, 0, to, receive);
  me.expect(receive, from);
  me.wait(send);
  try {
    me.send(largest + 1, 0, from, send);
    FAIL() << "a tag beyond MPI_TAG_UB was accepted";
  } catch (const allscan::invalid_argument& e) {
    EXPECT_NE(std::string{e.what()}.find(std::to_string(largest)), std::string::npos) << e.what();
  }
}

TEST(MpiLimits, MessagesBeyondTheCountsOfMpiAreRefused) {
  communicator comm{MPI_COMM_SELF};
  communicator::request r;
  EXPECT_THROW(comm.send(1, 0, nullptr, std::size_t{1} << 51U, r), allscan::invalid_argument);
  EXPECT_TRUE(comm.test(r)) << "nothing was started";
}

/// The split path with each shape of blocks and rest.
TEST(MpiLimits, SplitMessagesKeepTheirOrder) {
  constexpr std::size_t block = std::size_t{1} << 20U;
  communicator comm{MPI_COMM_WORLD, {.split_above = block}};
  side me{comm};
  const std::vector<std::size_t> sizes{block, block + 1, 10, 3 * block, 2 * block - 1, 0, block - 1};
  std::vector<bytes> to;
  std::vector<bytes> from;
  std::vector<communicator::request> sends(sizes.size());
  std::vector<communicator::request> receives(sizes.size());
  for (const std::size_t size : sizes) {
    from.push_back(pattern(size, size));
    to.emplace_back(size);
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) me.send(2, me.next(), from[i], sends[i]);
  for (std::size_t i = 0; i < sizes.size(); ++i) me.receive(2, me.previous(), to[i], receives[i]);
  for (std::size_t i = sizes.size(); i-- > 0;) me.expect(receives[i], from[i]);
  for (auto& each : sends) me.wait(each);
}

TEST(MpiLimits, nightly_CountsAroundTwoToThe31) {
  communicator comm{MPI_COMM_WORLD};
  if (comm.rank() > 1) return;
  side me{comm};
  const int peer = std::min(1, comm.size() - 1);  // rank 0 sends to rank 1, or to itself
  constexpr std::size_t limit = std::size_t{1} << 31U;
  for (const std::size_t size : {limit - 1, limit, limit + 1}) {
    communicator::request send;
    communicator::request receive;
    bytes to;
    bytes from;
    if (comm.rank() == peer) {
      to.resize(size);
      me.receive(1, 0, to, receive);
    }
    if (comm.rank() == 0) {
      from = pattern(size, size);
      me.send(1, peer, from, send);
    }
    if (comm.rank() == peer) me.wait(receive);
    if (comm.rank() == 0) me.wait(send);
    if (comm.rank() == peer) {
      from = pattern(size, size);
      EXPECT_TRUE(to == from) << size;
    }
  }
}

TEST(MpiErrors, CarryCallCodeTextAndPeer) {
  communicator comm{MPI_COMM_SELF};
  side me{comm};
  communicator::request send;
  communicator::request receive;
  const bytes from(8);
  bytes to(4);
  me.send(1, 0, from, send);
  me.receive(1, 0, to, receive);
  try {
    me.wait(receive);
    FAIL() << "a truncated message was taken for whole";
  } catch (const allscan::transport_error& e) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(e.code(), &error_class);
    EXPECT_EQ(error_class, MPI_ERR_TRUNCATE);
    EXPECT_EQ(e.rank(), 0);
    EXPECT_EQ(e.peer(), 0);
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(e.code(), text, &length);
    EXPECT_NE(std::string{e.what()}.find(text), std::string::npos) << e.what();
    EXPECT_NE(std::string{e.what()}.find("MPI_Test"), std::string::npos) << e.what();
  }
  me.wait(send);
}

TEST(MpiCancel, ASendIsNotTakenBack) {
  communicator comm{MPI_COMM_SELF};
  side me{comm};
  communicator::request send;
  communicator::request receive;
  const bytes from = pattern(10000000, 1);  // far above any eager limit
  bytes to(from.size());
  me.send(1, 0, from, send);
  EXPECT_FALSE(comm.cancel(send));
  me.receive(1, 0, to, receive);
  me.expect(receive, from);
  me.wait(send);
  EXPECT_TRUE(comm.cancel(send));
}

}  // namespace
