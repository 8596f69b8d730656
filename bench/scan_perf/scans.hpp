/// The library's scans, as contenders.
#pragma once

#include "combiners.hpp"
#include "random.hpp"
#include "rows.hpp"
#include "run.hpp"

#include <allscan/collective/scan_plan.hpp>
#include <allscan/combiner/kinds.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace scan_perf {

/// One position's operands.
template <class Combiner>
struct operand_store {
  using scalar = typename Combiner::scalar;
  using kind = typename Combiner::kind;
  static constexpr bool in_log_space = allscan::is_log_space<Combiner>;
  static constexpr bool is_none = std::is_same_v<kind, allscan::kind::none>;
  static constexpr bool is_dense = std::is_same_v<kind, allscan::kind::dense>;

  [[nodiscard]] allscan::scan_operands<Combiner> operands() const {
    allscan::scan_operands<Combiner> all;
    all.state = state;
    if constexpr (in_log_space && !is_none) all.log_decay = log_decay;
    if constexpr (std::is_same_v<Combiner, allscan::rotary<float>>) all.angle = angle;
    if constexpr (!is_none && (is_dense || !in_log_space)) all.transition = transition;
    return all;
  }

  buffer<scalar> state = {};
  buffer<scalar> log_decay = {};
  buffer<scalar> angle = {};
  buffer<allscan::transition_of<Combiner>> transition = {};
};

/// Ordinary values: decays of e^-0.5 and above, rotations by any angle, matrices that keep a vector's length on average.
template <class Combiner>
[[nodiscard]] operand_store<Combiner> timed_operands(const allscan::state_shape& shape, int position) {
  using kind = typename Combiner::kind;
  random_numbers random{static_cast<std::uint64_t>(position)};
  const auto fill = [&](auto& values, std::size_t n, float least, float most) {
    values.resize(n);
    for (auto& each : values) each = random.real(least, most);
  };
  operand_store<Combiner> store;
  fill(store.state, shape.elements(), -1.0F, 1.0F);
  if constexpr (!std::is_same_v<kind, allscan::kind::none>) fill(store.log_decay, kind::transitions(shape), -0.5F, 0.0F);
  if constexpr (std::is_same_v<kind, allscan::kind::rotation>) fill(store.angle, kind::transitions(shape), -3.0F, 3.0F);
  if constexpr (std::is_same_v<kind, allscan::kind::dense>) {
    const float bound = std::sqrt(3.0F / static_cast<float>(shape.key_dim));
    fill(store.transition, shape.matrices() * shape.key_dim * shape.key_dim, -bound, bound);
  }
  return store;
}

template <class Combiner>
[[nodiscard]] operand_store<Combiner> exact_operands(const row_layout& layout, int position) {
  summary<std::uint32_t> from = exact_summary<std::uint32_t>(layout, position);
  operand_store<Combiner> store{.state = std::move(from.state)};
  if constexpr (std::is_same_v<typename Combiner::kind, allscan::kind::rotation>) {
    for (std::size_t i = 0; i < from.transition.size(); i += 2) {
      store.transition.push_back({from.transition[i], from.transition[i + 1]});
    }
  } else if constexpr (!operand_store<Combiner>::is_none) {
    store.transition = std::move(from.transition);
  }
  return store;
}

/// What the scans of one size share: this position's operands, one result, and what it has to be.
template <class Kind>
class scan_case {
 public:
  using timed = typename timed_combiner<Kind>::type;
  using exact = modular<Kind>;

  scan_case(const row_layout& rows, const allscan::state_shape& states, scan_name form, int position)
      : shape{states},
        scan{form},
        operands{timed_operands<timed>(states, position)},
        result(states.elements()),
        layout_{rows},
        position_{position},
        folded_{position + (form == scan_name::exclusive ? 0 : 1)} {}

  /// Elements of `result` that differ by a bit from the fold of the summaries, left to right.
  [[nodiscard]] std::uint64_t wrong_timed() {
    if (expected_.empty()) expected_ = folded();
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
      count += std::bit_cast<std::uint32_t>(result[i]) == std::bit_cast<std::uint32_t>(expected_[i]) ? 0U : 1U;
    }
    return count;
  }

  template <class Plan>
  [[nodiscard]] std::uint64_t wrong_exact(Plan& plan) const {
    const operand_store<exact> store = exact_operands<exact>(layout_, position_);
    buffer<std::uint32_t> found(shape.elements(), ~0U);
    if (scan == scan_name::exclusive) {
      plan.exclusive_scan(store.operands(), found);
    } else {
      plan.inclusive_scan(store.operands(), found);
    }
    const buffer<std::uint32_t> expected =
        folded_ == 0 ? buffer<std::uint32_t>(found.size()) : exact_prefix<std::uint32_t>(layout_, folded_);
    return count_different(found.data(), expected.data(), found.size());
  }

  const allscan::state_shape shape;
  const scan_name scan;
  const operand_store<timed> operands;
  buffer<float> result;

 private:
  [[nodiscard]] buffer<float> folded() const {
    const timed combiner{};
    const allscan::unit_range all{0, Kind::units(shape)};
    if (folded_ == 0) return buffer<float>(result.size(), allscan::identity(combiner));
    buffer<float> prefix = timed_operands<timed>(shape, 0).state;
    buffer<float> next(prefix.size());
    for (int position = 1; position < folded_; ++position) {
      const operand_store<timed> local = timed_operands<timed>(shape, position);
      const auto given = allscan::resolve<timed>(shape, local.operands());
      Kind::template fold<timed>(combiner, shape, all, given.transition, {prefix.data()}, {given.state}, {next.data()});
      prefix.swap(next);
    }
    return prefix;
  }

  row_layout layout_;
  int position_;
  int folded_;  // summaries in this position's result
  buffer<float> expected_ = {};
};

template <class Communicator, class Kind>
class scan_contender final : public contender {
 public:
  scan_contender(const Communicator& comm, std::shared_ptr<scan_case<Kind>> shared, const allscan::scan_options& how,
                 bool check)
      : shared_{std::move(shared)}, plan_{comm, {}, shared_->shape, how}, algorithm_{allscan::to_string(how.algorithm)} {
    if (check) exact_plan_.emplace(comm, typename scan_case<Kind>::exact{}, shared_->shape, how);
  }

  [[nodiscard]] std::string algorithm() const override { return algorithm_; }
  [[nodiscard]] std::size_t blocks() const override { return plan_.blocks(); }
  void prepare() override {
    std::fill(shared_->result.begin(), shared_->result.end(), -99.0F);
    touch(shared_->operands.state);
  }
  void run() override {
    if (shared_->scan == scan_name::exclusive) {
      plan_.exclusive_scan(shared_->operands.operands(), shared_->result);
    } else {
      plan_.inclusive_scan(shared_->operands.operands(), shared_->result);
    }
  }
  [[nodiscard]] std::uint64_t wrong() override { return shared_->wrong_timed() + shared_->wrong_exact(*exact_plan_); }

 private:
  std::shared_ptr<scan_case<Kind>> shared_;
  allscan::scan_plan<Communicator, typename scan_case<Kind>::timed> plan_;
  std::optional<allscan::scan_plan<Communicator, typename scan_case<Kind>::exact>> exact_plan_;
  std::string algorithm_;
};

template <class Kind, class Communicator>
[[nodiscard]] contender_list make_scans_of(const Communicator& comm, const options& chosen, const allscan::state_shape& shape,
                                           scan_name scan) {
  const int position = chosen.reverse ? comm.size() - 1 - comm.rank() : comm.rank();
  const auto shared = std::make_shared<scan_case<Kind>>(layout_of(chosen.kind, shape), shape, scan, position);
  contender_list all;
  for (const std::string& name : chosen.algorithms) {
    for (const std::size_t blocks : chosen.blocks) {
      const allscan::scan_options how{.blocks = blocks,
                                      .direction = chosen.reverse ? allscan::direction::reverse : allscan::direction::forward,
                                      .algorithm = name == "chain"    ? allscan::algorithm::chain
                                                   : name == "gather" ? allscan::algorithm::gather
                                                                      : allscan::algorithm::automatic};
      all.push_back(std::make_unique<scan_contender<Communicator, Kind>>(comm, shared, how, chosen.check));
    }
  }
  return all;
}

/// Every algorithm asked for with every block count. Collective.
template <class Communicator>
[[nodiscard]] contender_list make_scans(const Communicator& comm, const options& chosen, const allscan::state_shape& shape,
                                        scan_name scan) {
  namespace kind = allscan::kind;
  switch (chosen.kind) {
    case kind_name::none: return make_scans_of<kind::none>(comm, chosen, shape, scan);
    case kind_name::scalar: return make_scans_of<kind::scalar>(comm, chosen, shape, scan);
    case kind_name::diagonal: return make_scans_of<kind::diagonal>(comm, chosen, shape, scan);
    case kind_name::elementwise: return make_scans_of<kind::elementwise>(comm, chosen, shape, scan);
    case kind_name::rotation: return make_scans_of<kind::rotation>(comm, chosen, shape, scan);
    case kind_name::dense: break;
  }
  return make_scans_of<kind::dense>(comm, chosen, shape, scan);
}

}  // namespace scan_perf
