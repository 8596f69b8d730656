#include <allscan/collective/agreement.hpp>
#include <allscan/transport/thread.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>

using namespace allscan;

namespace {

/// What agree() threw on a rank: "" for nothing.
template <class Error = invalid_argument>
std::string thrown(thread::communicator& comm, const proposal& mine, seconds timeout = seconds{10}) {
  try {
    agree(comm, mine, timeout);
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

class Agreement : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Agreement, testing::Values(1, 2, 3, 5, 7, 8));

TEST_P(Agreement, EqualProposalsPass) {
  thread::run(GetParam(), [](thread::communicator comm) {
    for (std::size_t i = 0; i < 20; ++i) {
      proposal mine;
      mine.add("blocks", i);
      EXPECT_EQ(thrown(comm, mine), "");
    }
  });
}

TEST_P(Agreement, ADifferenceIsNamedAlikeOnEveryRank) {
  const int size = GetParam();
  for (const bool windows : {false, true}) {
    thread::run(size,
                [&](thread::communicator comm) {
                  for (int odd = 1; odd < size; ++odd) {
                    proposal mine;
                    mine.add("kind", "diagonal");
                    mine.add("blocks", comm.rank() == odd ? 4U : 8U);
                    mine.add("later", comm.rank() == odd ? 1U : 2U);
                    EXPECT_EQ(thrown(comm, mine),
                              "the ranks disagree: rank 0 has blocks = 8 and rank " + std::to_string(odd) +
                                  " has blocks = 4: pass the same on every rank, and construct plans in the same order "
                                  "everywhere");
                  }
                },
                {.windows = windows});
  }
}

TEST_P(Agreement, TheFirstFailureIsQuotedOnEveryRank) {
  const int size = GetParam();
  thread::run(size, [&](thread::communicator comm) {
    proposal mine;
    mine.add("blocks", 8);
    if (comm.rank() >= size / 2) mine.fail("no memory on " + std::to_string(comm.rank()));
    const std::string first = std::to_string(size / 2);
    EXPECT_EQ(thrown(comm, mine), "rank " + first + ": no memory on " + first);
  });
}

TEST(AgreementText, OneProposalMayEndEarlier) {
  proposal one;
  one.add("a", 1);
  proposal two = one;
  two.add("b", 2);
  EXPECT_NE(proposal::disagreement({one.pack(), two.pack()}).find("rank 0 has nothing more and rank 1 has b = 2"),
            std::string::npos);
  EXPECT_NE(proposal::disagreement({two.pack(), one.pack()}).find("rank 0 has b = 2 and rank 1 has nothing more"),
            std::string::npos);
}

TEST(AgreementText, LongValuesDifferByTheirEndsAndHideNothing) {
  const std::string name(3000, 'x');
  proposal one;
  one.add("combiner", name + "a");
  one.add("shape", "[1, 1, 4, 4]");
  proposal other_end;
  other_end.add("combiner", name + "b");
  other_end.add("shape", "[1, 1, 4, 4]");
  proposal other_shape;
  other_shape.add("combiner", name + "a");
  other_shape.add("shape", "[9, 9, 9, 9]");
  EXPECT_EQ(proposal::disagreement({one.pack(), one.pack()}), "");
  EXPECT_NE(proposal::disagreement({one.pack(), other_end.pack()}).find("combiner"), std::string::npos);
  EXPECT_NE(proposal::disagreement({one.pack(), other_shape.pack()}).find("shape = [9, 9, 9, 9]"), std::string::npos);
}

TEST(AgreementText, LongTextIsCutNotOverrun) {
  proposal long_one;
  long_one.fail(std::string(2 * proposal::capacity, 'x'));
  EXPECT_EQ(proposal::disagreement({long_one.pack()}).size(), proposal::capacity - 1 - 2 + std::string("rank 0: ").size());
}

TEST_P(Agreement, ASilentRankIsATimeoutOnTheOthersAndPoisonsTheCommunicator) {
  const int size = GetParam();
  if (size == 1) return;
  thread::run(size, [&](thread::communicator comm) {
    if (comm.rank() == size - 1) return;
    proposal mine;
    mine.add("blocks", 8);
    const auto start = std::chrono::steady_clock::now();
    const std::string text = thrown<timeout_error>(comm, mine, seconds{0.3});
    EXPECT_NE(text.find("rank " + std::to_string(comm.rank()) + ":"), std::string::npos) << text;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
    EXPECT_NE(thrown<poisoned_error>(comm, mine).find("fresh duplicate"), std::string::npos);
  });
}

}  // namespace
