/// The golden cases as problems for the operators, and where to cut them.
#pragma once

#include "ops/gla_problem.hpp"
#include "support/golden.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace allscan::test {

struct golden_problem {
  std::string name;
  gla_problem<double> problem;
  gla_result<double> expected;
  std::vector<std::size_t> cuts;                       ///< ascending, without 0
  std::map<std::size_t, std::vector<double>> carries;  ///< the state before each of them

  /// Evenly over `ranks`, and at every choice of ranks - 1 of the cuts.
  [[nodiscard]] std::vector<boundaries> cut_for(int ranks) const {
    std::vector<boundaries> all{even_boundaries(problem.shape.tokens, ranks)};
    for (unsigned chosen = 1; chosen < 1U << cuts.size(); ++chosen) {
      if (std::popcount(chosen) != ranks - 1) continue;
      boundaries bounds{0};
      for (std::size_t i = 0; i < cuts.size(); ++i) {
        if ((chosen >> i & 1U) != 0) bounds.push_back(cuts[i]);
      }
      bounds.push_back(problem.shape.tokens);
      all.push_back(bounds);
    }
    return all;
  }

  /// The carry that a rank beginning with token `begin` receives, where the case says.
  template <class T>
  void expect_carry(std::size_t begin, const gla_result<T>& got, const std::string& where) const {
    const auto known = carries.find(begin);
    if (known == carries.end()) return;
    EXPECT_LE(rms_error(known->second, got.carry), forward_limit<T>) << "carry, " << where;
  }
};

/// linear_attn and retention are simple GLA with gates of 0 and constant gates; they have no gradient of the gate, so the
/// token-serial kernel's stands in.
template <class Gate>
std::vector<golden_problem> golden_problems() {
  std::vector<golden_problem> problems;
  for (const std::string& name : golden_names()) {
    const golden_case c{name};
    if (c.diagonal_gate() != diagonal_gate<Gate>) continue;
    golden_problem p{name,
                     {c.shape(), c.scale(), c.tensor("q"), c.tensor("k"), c.tensor("v"), c.log_decay(), c.tensor("h0"),
                      c.tensor("do"), c.tensor("dht")},
                     {},
                     {},
                     {}};
    const std::vector<double> d_gate = c.has("dg") ? c.tensor("dg") : one_device<Gate>(p.problem).dlog_decay;
    p.expected = {c.tensor("o"), c.tensor("ht"), {}, c.tensor("dq"), c.tensor("dk"), c.tensor("dv"), d_gate, c.tensor("dh0")};
    for (const std::size_t cut : c.cuts()) {
      if (cut == 0) continue;
      p.cuts.push_back(cut);
      p.carries[cut] = c.tensor("carry_" + std::to_string(cut));
    }
    problems.push_back(p);
  }
  return problems;
}

/// One rank's results, its carry included, against the case. `mine` is the case's problem in the precision to test.
template <class Gate, class T, class Communicator>
void compare_with(const golden_problem& golden, const gla_problem<T>& mine, Communicator comm, const boundaries& bounds,
                  std::size_t chunk) {
  std::string where = golden.name + ", chunk " + std::to_string(chunk) + ", rank " + std::to_string(comm.rank()) + " of cuts";
  for (const std::size_t bound : bounds) where += " " + std::to_string(bound);
  const auto expected = part_of<Gate>(golden.expected, golden.problem.shape, bounds, comm.rank());
  rank_run<Gate, T, Communicator> run{comm, mine, bounds, {.chunk = chunk}};
  run.forward();
  golden.expect_carry(part_of(bounds, comm.rank()).begin, run.result(), where);
  run.backward(true);
  expect_close(expected, run.result(), where + ", carry kept");
  run.backward(false);
  expect_close(expected, run.result(), where + ", carry recomputed");
}

}  // namespace allscan::test
