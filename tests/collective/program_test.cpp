#include <allscan/collective/chain.hpp>
#include <allscan/collective/gather.hpp>
#include <allscan/collective/schedule.hpp>
#include <allscan/collective/validate.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

using namespace allscan;

namespace {

using make = std::function<program(int, int, block_list, const scan_request&)>;

struct set {
  std::vector<program> programs;
  std::vector<scan_request> requests;
  [[nodiscard]] std::string problem() const { return validate(programs, requests); }
};

set make_set(const make& algorithm, int size, std::size_t units, std::size_t blocks, bool carry, bool outgoing, bool initial) {
  std::vector<unit_range> ranges;
  for (std::size_t k = 0; k < blocks; ++k) ranges.push_back(even_part(units, blocks, k));
  set s;
  for (int p = 0; p < size; ++p) {
    s.requests.push_back({.carry = carry, .outgoing = outgoing, .initial_carry = initial && p == 0});
    s.programs.push_back(algorithm(p, size, ranges, s.requests.back()));
  }
  return s;
}

TEST(Programs, AllAreValid) {
  int checked = 0;
  for (const make& algorithm : {make{chain::make_program}, make{gather::make_program}}) {
    for (const int size : {1, 2, 3, 5, 7, 8}) {
      for (const std::size_t blocks : {1U, 2U, 5U, 9U}) {
        for (const std::size_t units : {0U, 1U, 7U}) {
          for (int want = 1; want < 8; ++want) {
            const set s = make_set(algorithm, size, units, blocks, want % 2 == 1, want / 2 % 2 == 1, want / 4 == 1);
            if (want == 4) continue;  // asks for nothing
            EXPECT_EQ(s.problem(), "") << size << " positions, " << blocks << " blocks, " << units << " units, want " << want;
            ++checked;
          }
        }
      }
    }
  }
  EXPECT_EQ(checked, 2 * 6 * 4 * 3 * 6);
}

TEST(Programs, PositionsMayAskForDifferentResults) {
  for (const make& algorithm : {make{chain::make_program}, make{gather::make_program}}) {
    set s = make_set(algorithm, 4, 8, 2, true, false, false);
    const std::vector<unit_range> blocks{{0, 4}, {4, 8}};
    s.requests[2] = {.outgoing = true};
    s.programs[2] = algorithm(2, 4, blocks, s.requests[2]);
    EXPECT_EQ(s.problem(), "");
  }
}

/// Breaks a valid chain of three positions with two blocks and expects the validator to say so.
void expect_rejected(const std::function<void(set&)>& damage, const std::string& word,
                     const make& algorithm = chain::make_program) {
  set s = make_set(algorithm, 3, 8, 2, true, true, false);
  ASSERT_EQ(s.problem(), "");
  damage(s);
  EXPECT_NE(s.problem().find(word), std::string::npos) << '"' << s.problem() << '"';
}

std::size_t find(const program& p, operation what, std::size_t block) {
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    if (p.steps[i].what == what && p.steps[i].block == block) return i;
  }
  ADD_FAILURE() << "no such step";
  return 0;
}

void erase(program& p, std::size_t i) { p.steps.erase(p.steps.begin() + static_cast<std::ptrdiff_t>(i)); }

TEST(Validate, RejectsADroppedMessage) {
  expect_rejected([](set& s) { erase(s.programs[0], find(s.programs[0], operation::send, 1)); }, "do not match");
}

TEST(Validate, RejectsASwappedPair) {
  expect_rejected(
      [](set& s) {
        program& p = s.programs[0];
        std::swap(p.steps[find(p, operation::send, 0)], p.steps[find(p, operation::send, 1)]);
      },
      "do not match");
}

TEST(Validate, RejectsABlockDeliveredTwice) {
  expect_rejected(
      [](set& s) { s.programs[1].steps.push_back(s.programs[1].steps[find(s.programs[1], operation::deliver, 0)]); },
      "exactly once");
}

TEST(Validate, RejectsABlockNotDelivered) {
  expect_rejected([](set& s) { erase(s.programs[2], find(s.programs[2], operation::deliver, 1)); }, "exactly once");
}

TEST(Validate, RejectsAnInitialCarryAtTheWrongPosition) {
  expect_rejected([](set& s) { s.programs[1].steps[find(s.programs[1], operation::fold, 0)].in = initial_carry; },
                  "initial carry");
  expect_rejected([](set& s) { s.programs[0].deliver(initial_carry, result::carry, {0, 4}, 0); }, "initial carry");
}

TEST(Validate, RejectsAReadBeforeTheWrite) {
  expect_rejected(
      [](set& s) {
        program& p = s.programs[1];
        std::swap(p.steps[find(p, operation::receive, 0)], p.steps[find(p, operation::fold, 0)]);
      },
      "nobody has written");
}

TEST(Validate, RejectsASecondWrite) {
  expect_rejected(
      [](set& s) {
        program& p = s.programs[1];
        p.steps.push_back(p.steps[find(p, operation::fold, 0)]);
      },
      "again");
}

TEST(Validate, RejectsUnitsOutsideTheState) {
  expect_rejected([](set& s) { s.programs[1].steps[find(s.programs[1], operation::fold, 1)].units.end = 9; }, "outside");
}

TEST(Validate, RejectsALostInitialCarry) {
  set s = make_set(gather::make_program, 3, 8, 2, true, false, true);
  ASSERT_EQ(s.problem(), "");
  for (step& each : s.programs[0].steps) {
    if (each.what == operation::send && each.carries == payload::state && each.in > local_summary && each.peer == 1 &&
        each.block == 0) {
      each.in = local_summary;
      break;
    }
  }
  EXPECT_NE(s.problem().find("something else"), std::string::npos) << s.problem();
}

TEST(Validate, RejectsAFoldOutOfOrder) {
  set s = make_set(gather::make_program, 4, 8, 1, true, false, false);
  ASSERT_EQ(s.problem(), "");
  program& p = s.programs[3];
  std::vector<std::size_t> folds;
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    if (p.steps[i].what == operation::fold) folds.push_back(i);
  }
  ASSERT_EQ(folds.size(), 2U);
  std::swap(p.steps[folds[0]].summary, p.steps[folds[1]].summary);
  EXPECT_NE(s.problem().find("in order"), std::string::npos) << s.problem();
}

TEST(Validate, RejectsAWaitForEver) {
  set s = make_set(gather::make_program, 3, 8, 1, true, false, false);
  for (program& p : s.programs) {  // everybody receives before it sends
    std::stable_partition(p.steps.begin(), p.steps.end(), [](const step& each) { return each.what == operation::receive; });
  }
  EXPECT_NE(s.problem().find("for ever"), std::string::npos) << s.problem();
}

TEST(Validate, RejectsStorageOverwrittenTooEarly) {
  expect_rejected(
      [](set& s) {
        program& p = s.programs[2];
        ASSERT_GE(p.storage.size(), 2U);
        p.storage.back() = p.storage.front();  // the fold's output over the message it was made from, which is delivered too
      },
      "still uses");
}

TEST(Schedule, EveryStepWaitsForWhatItReads) {
  const set s = make_set(gather::make_program, 5, 8, 3, true, true, true);
  for (const program& p : s.programs) {
    const schedule made = make_schedule(p);
    ASSERT_EQ(made.nodes.size(), p.steps.size());
    // Running steps whose waits are over, in any order, must reach all of them.
    std::vector<std::uint32_t> waits;
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < made.nodes.size(); ++i) {
      waits.push_back(made.nodes[i].waits);
      if (waits[i] == 0) ready.push_back(i);
    }
    std::size_t done = 0;
    for (; !ready.empty(); ++done) {
      const schedule::node& n = made.nodes[ready.back()];
      ready.pop_back();
      for (std::uint32_t e = 0; e < n.successors; ++e) {
        const std::uint32_t next = made.successors[n.first_successor + e];
        if (--waits[next] == 0) ready.push_back(next);
      }
    }
    EXPECT_EQ(done, p.steps.size());
  }
}

TEST(Chain, SendsOneStateABoundary) {
  const set s = make_set(chain::make_program, 6, 100, 7, true, true, false);
  for (const program& p : s.programs) {
    std::size_t sent = 0;
    for (const step& each : p.steps) sent += each.what == operation::send ? each.units.size() : 0;
    EXPECT_EQ(sent, p.position == 5 ? 0U : 100U);
  }
}

TEST(Gather, SendsAllStatesButOneFromEveryPosition) {
  const set s = make_set(gather::make_program, 6, 100, 7, true, true, false);
  for (const program& p : s.programs) {
    std::size_t sent = 0;
    for (const step& each : p.steps)
      sent += each.what == operation::send && each.carries == payload::state ? each.units.size() : 0;
    EXPECT_EQ(sent, 500U);
  }
}

}  // namespace
