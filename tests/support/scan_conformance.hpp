/// The conformance suite of scans: every kind, direction, adjoint, result, initial carry, reset and block count, over any
/// communicator, with inputs that are exact and change under any reordering. The expected states come from a plain loop over
/// ranks and indices that shares no code with the library.
#pragma once

#include <allscan/collective/scan_plan.hpp>
#include <allscan/combiner/adjoint.hpp>
#include <support/exact_combiners.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace conformance {

using word = std::uint32_t;

using combiners = testing::Types<allscan::test::exact_accumulate, allscan::test::exact_affine<allscan::kind::scalar>,
                                 allscan::test::exact_affine<allscan::kind::diagonal>,
                                 allscan::test::exact_affine<allscan::kind::elementwise>, allscan::test::exact_rotation,
                                 allscan::test::exact_dense>;

/// What resets, on two of the ranks: nothing, one batch row or all by the flag, every third transition number by its value.
enum class resets { none, one_row, whole_rank, by_number };

struct setting {
  allscan::algorithm algorithm = allscan::algorithm::chain;
  allscan::direction direction = allscan::direction::forward;
  std::size_t blocks = 1;
  bool adjoint = false;
};

template <class Combiner>
struct summary {
  std::vector<word> state;
  std::vector<allscan::transition_of<Combiner>> transition;
  std::vector<std::uint8_t> reset;
};

inline word next_word(std::uint64_t& seed) {
  seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
  return static_cast<word>(seed >> 32);
}

template <class Combiner>
std::size_t transition_numbers(const allscan::state_shape& s) {
  using kind = typename Combiner::kind;
  if (std::is_same_v<kind, allscan::kind::none>) return 0;
  if (std::is_same_v<kind, allscan::kind::scalar>) return s.batch * s.heads;
  if (std::is_same_v<kind, allscan::kind::diagonal>) return s.batch * s.heads * s.key_dim;
  if (std::is_same_v<kind, allscan::kind::elementwise>) return s.batch * s.heads * s.key_dim * s.value_dim;
  if (std::is_same_v<kind, allscan::kind::rotation>) return s.batch * s.heads * (s.key_dim / 2);
  return s.batch * s.heads * s.key_dim * s.key_dim;
}

/// What rank `rank` holds: any rank can tell what any other holds.
template <class Combiner>
summary<Combiner> summary_of(const allscan::state_shape& shape, int rank, int size, resets pattern) {
  std::uint64_t seed = static_cast<std::uint64_t>(rank) * 7919 + 17;
  summary<Combiner> s;
  s.state.resize(shape.elements());
  for (word& each : s.state) each = next_word(seed);
  s.transition.resize(transition_numbers<Combiner>(shape));
  for (auto& each : s.transition) {
    if constexpr (std::is_same_v<typename Combiner::kind, allscan::kind::rotation>) {
      each = {next_word(seed), next_word(seed)};
    } else if constexpr (!std::is_same_v<typename Combiner::kind, allscan::kind::none>) {
      each = next_word(seed) | 1U;
    }
  }
  const bool here = rank == size / 2 || rank == size - 1;
  for (std::size_t i = 0; here && pattern == resets::by_number && i < s.transition.size(); i += 3) s.transition[i] = {};
  s.reset.assign(shape.batch, here && pattern == resets::whole_rank ? 1 : 0);
  if (here && pattern == resets::one_row && shape.batch > 0) s.reset[static_cast<std::size_t>(rank) % shape.batch] = 1;
  return s;
}

/// out = A * in + S, index by index. `transposed`: the adjoint's A.
template <class Combiner>
std::vector<word> apply_by_index(const allscan::state_shape& n, const summary<Combiner>& s, bool transposed,
                                 const std::vector<word>& in) {
  using kind = typename Combiner::kind;
  std::vector<word> out = s.state;
  for (std::size_t b = 0; b < n.batch; ++b) {
    if (s.reset[b] != 0) continue;
    for (std::size_t h = 0; h < n.heads; ++h) {
      const std::size_t head = b * n.heads + h;
      for (std::size_t i = 0; i < n.key_dim; ++i) {
        for (std::size_t v = 0; v < n.value_dim; ++v) {
          const std::size_t row = head * n.key_dim + i;
          const std::size_t at = row * n.value_dim + v;
          if constexpr (std::is_same_v<kind, allscan::kind::none>) {
            out[at] += in[at];
          } else if constexpr (std::is_same_v<kind, allscan::kind::scalar>) {
            out[at] += s.transition[head] * in[at];
          } else if constexpr (std::is_same_v<kind, allscan::kind::diagonal>) {
            out[at] += s.transition[row] * in[at];
          } else if constexpr (std::is_same_v<kind, allscan::kind::elementwise>) {
            out[at] += s.transition[at] * in[at];
          } else if constexpr (std::is_same_v<kind, allscan::kind::rotation>) {
            const auto& turn = s.transition[head * (n.key_dim / 2) + i / 2];  // re + i * im, conjugated by the adjoint
            const word im = transposed ? 0U - turn.y : turn.y;
            const std::size_t other = (row ^ 1U) * n.value_dim + v;  // key_dim is even
            out[at] += i % 2 == 0 ? turn.x * in[at] - im * in[other] : turn.x * in[at] + im * in[other];
          } else {
            for (std::size_t j = 0; j < n.key_dim; ++j) {
              const std::size_t entry = transposed ? j * n.key_dim + i : i * n.key_dim + j;
              out[at] += s.transition[head * n.key_dim * n.key_dim + entry] * in[(head * n.key_dim + j) * n.value_dim + v];
            }
          }
        }
      }
    }
  }
  return out;
}

struct prefix {
  std::vector<word> carry;
  std::vector<word> outgoing;
};

/// Carry and outgoing state of rank `rank`, by a plain loop over the ranks before it in the direction.
template <class Combiner>
prefix expected(const allscan::state_shape& shape, int rank, int size, allscan::direction d, bool transposed, resets pattern,
                const std::vector<word>* initial) {
  const bool forward = d == allscan::direction::forward;
  prefix p{.carry = std::vector<word>(shape.elements(), 0), .outgoing = {}};
  if (initial != nullptr) p.carry = *initial;
  for (int q = forward ? 0 : size - 1; q != rank; q += forward ? 1 : -1) {
    p.carry = apply_by_index<Combiner>(shape, summary_of<Combiner>(shape, q, size, pattern), transposed, p.carry);
  }
  p.outgoing = apply_by_index<Combiner>(shape, summary_of<Combiner>(shape, rank, size, pattern), transposed, p.carry);
  return p;
}

/// Runs one plan through every way of calling it. `Plan` is Combiner or its adjoint.
template <class Combiner, class Plan, class Communicator>
void scan_every_way(Communicator& comm, Plan combiner, const allscan::state_shape& shape, const setting& with) {
  constexpr bool transposed = allscan::is_adjoint<Plan>;
  constexpr word untouched = 0xDEADBEEF;
  const int rank = comm.rank();
  const int size = comm.size();
  const bool first = rank == (with.direction == allscan::direction::forward ? 0 : size - 1);
  allscan::scan_plan plan{
      comm, combiner, shape, {.blocks = with.blocks, .direction = with.direction, .algorithm = with.algorithm}};
  std::uint64_t seed = 4711;
  std::vector<word> initial(shape.elements());
  for (word& each : initial) each = next_word(seed);

  for (const resets pattern : {resets::none, resets::one_row, resets::whole_rank, resets::by_number}) {
    summary<Combiner> mine = summary_of<Combiner>(shape, rank, size, pattern);
    for (const bool with_initial : {false, true}) {
      SCOPED_TRACE(plan.describe() + (transposed ? ", adjoint" : "") + ", resets " + std::to_string(static_cast<int>(pattern)) +
                   (with_initial ? ", initial carry" : "") + ", rank " + std::to_string(rank) + " of " + std::to_string(size));
      const prefix want =
          expected<Combiner>(shape, rank, size, with.direction, transposed, pattern, with_initial ? &initial : nullptr);
      typename decltype(plan)::operands local{.state = mine.state, .reset = mine.reset};
      if constexpr (!std::is_same_v<typename Combiner::kind, allscan::kind::none>) local.transition = mine.transition;
      if (with_initial && first) local.initial_carry = initial;

      std::vector<word> carry(shape.elements(), untouched);
      std::vector<word> outgoing(shape.elements(), untouched);
      plan.exclusive_scan(local, carry);
      EXPECT_EQ(carry, want.carry) << "exclusive";
      plan.inclusive_scan(local, outgoing);
      EXPECT_EQ(outgoing, want.outgoing) << "inclusive";
      carry.assign(carry.size(), untouched);
      outgoing.assign(outgoing.size(), untouched);
      plan.exclusive_scan(local, {.carry = carry, .outgoing = outgoing});
      EXPECT_EQ(carry, want.carry) << "carry of both";
      EXPECT_EQ(outgoing, want.outgoing) << "outgoing of both";

      std::vector<word> in_place = mine.state;
      local.state = in_place;
      plan.exclusive_scan(local, in_place);
      EXPECT_EQ(in_place, want.carry) << "in place";
      in_place = mine.state;
      plan.exclusive_scan(local, {.carry = carry, .outgoing = in_place});
      EXPECT_EQ(in_place, want.outgoing) << "outgoing in place";
      EXPECT_EQ(carry, want.carry) << "carry beside outgoing in place";
    }
  }
}

/// The full product, with the block counts that find faults: one, few, many, more than units.
inline std::vector<setting> every_setting(std::size_t units) {
  std::vector<setting> all;
  for (const auto algorithm : {allscan::algorithm::chain, allscan::algorithm::gather}) {
    for (const auto direction : {allscan::direction::forward, allscan::direction::reverse}) {
      for (const std::size_t blocks : {std::size_t{1}, std::size_t{2}, std::size_t{5}, std::size_t{64}, units + 3}) {
        for (const bool adjoint : {false, true}) {
          all.push_back({.algorithm = algorithm, .direction = direction, .blocks = blocks, .adjoint = adjoint});
        }
      }
    }
  }
  return all;
}

/// Ten of the forty, in which every pair of values of two factors occurs.
inline std::vector<setting> pairwise_settings(std::size_t units) {
  const std::size_t blocks[] = {1, 2, 5, 64, units + 3};
  std::vector<setting> some;
  for (std::size_t j = 0; j < std::size(blocks); ++j) {
    for (const bool flip : {false, true}) {
      some.push_back({.algorithm = (j % 2 == 0) != flip ? allscan::algorithm::chain : allscan::algorithm::gather,
                      .direction = (j / 2 % 2 == 0) != flip ? allscan::direction::forward : allscan::direction::reverse,
                      .blocks = blocks[j],
                      .adjoint = (j % 3 == 0) != flip});
    }
  }
  return some;
}

template <class Combiner, class Communicator>
void scan_settings(Communicator comm, const allscan::state_shape& shape, bool full) {
  const std::size_t units = Combiner::kind::units(shape);
  for (const setting& with : full ? every_setting(units) : pairwise_settings(units)) {
    if (with.adjoint) {
      scan_every_way<Combiner>(comm, allscan::adjoint{Combiner{}}, shape, with);
    } else {
      scan_every_way<Combiner>(comm, Combiner{}, shape, with);
    }
  }
}

}  // namespace conformance
