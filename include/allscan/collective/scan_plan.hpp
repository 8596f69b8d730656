/// All-Scan: the state before each rank's first token, from every rank's summary.
#pragma once

#include <allscan/collective/agreement.hpp>
#include <allscan/collective/chain.hpp>
#include <allscan/collective/choice.hpp>
#include <allscan/collective/executor.hpp>
#include <allscan/collective/gather.hpp>
#include <allscan/collective/scan_options.hpp>
#include <allscan/collective/started_scan.hpp>
#include <allscan/combiner/adjoint.hpp>
#include <allscan/combiner/concepts.hpp>
#include <allscan/combiner/kinds.hpp>
#include <allscan/combiner/operands.hpp>
#include <allscan/core/environment.hpp>
#include <allscan/core/type_name.hpp>
#include <allscan/core/view.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace allscan {

/// Where a scan's results go. What is not wanted is left out. A result may lie exactly on the state or on the initial carry (it
/// is then copied first), and must not overlap any operand otherwise.
template <class Scalar>
struct scan_results {
  tensor_view<Scalar> carry = {};     ///< the state before the rank's first token (exclusive prefix)
  tensor_view<Scalar> outgoing = {};  ///< the state after its last token (inclusive prefix)
};

/// Scans states of one shape over the ranks of a communicator, any number of times.
///
///   rank 0       rank 1        rank 2              A, S: what a rank's tokens do to a state, out = A * in + S
///   carry: 0     carry: S0     carry: A1*S0 + S1   (direction::reverse runs from the last rank to the first)
///
/// Constructing is collective, and in the same order for all plans of a communicator; so is calling. Construction allocates
/// and checks that all ranks agree; calls allocate nothing. A plan keeps a copy of the communicator. Plans may be moved, and
/// are used by one thread at a time. Cost of each algorithm: docs/algorithms.md.
template <class Communicator, class Combiner>
class scan_plan {
  static_assert(communicator<Communicator>,
                "a communicator has rank(), size(), name(), endpoint(), send(), receive(), test(), "
                "data(), release() and cancel(): see allscan/core/concepts.hpp");
  static_assert(require_combiner<Combiner>());

 public:
  using scalar = typename Combiner::scalar;
  using kind = typename Combiner::kind;
  using operands = scan_operands<Combiner>;
  using results = scan_results<scalar>;

  /// Collective: shape, combiner and options (but timeout and workspace) are the same on every rank.
  /// @throws invalid_argument on every rank alike if one rank's arguments are unusable or two ranks disagree.
  /// @throws timeout_error if a rank does not construct its plan within options.timeout.
  scan_plan(Communicator comm, Combiner combiner, const state_shape& shape, const scan_options& options = {})
      : shape_{shape}, options_{options} {
    proposal mine;
    seconds timeout{0};
    const std::uint32_t channel = comm.endpoint().open_channel();
    try {
      timeout = options.timeout ? *options.timeout : seconds{environment::get_seconds(environment::timeout)};
      prepare(comm, std::move(combiner), timeout);
      propose(mine, channel);
    } catch (const std::exception& e) {
      mine.fail(std::string{"a scan plan cannot be made here: "} + e.what());
    } catch (...) {
      mine.fail("a scan plan cannot be made here: the combiner threw something that is no std::exception");
    }
    agree(comm, mine, timeout);
    executor_->connect(channel, options_.workspace);
    if (trace::enabled(trace::level::info)) trace::write(trace::level::info, comm.rank(), describe());
  }

  /// Exclusive scan of the ranks' summaries: the state before each rank's first token.
  ///
  /// Collective. The direction's first rank gets the initial carry, or the combiner's identity where none is given; without one
  /// its state is handed on as it is. Blocking: returns when the results are there and the operands are free.
  /// @param local    the rank's summary from a zero state; operands and layouts are the combiner's (see scan_operands).
  /// @param results  {.carry = , .outgoing = }, or the carry alone.
  /// Each rank may ask for the carry, the outgoing state or both, whatever the others ask for.
  /// @throws invalid_argument on this rank alone, before it sends anything (its peers get a timeout_error), also while the
  /// plan's
  ///         last scan or another one in its workspace is in flight. @throws poisoned_error if plan or workspace failed before.
  /// @throws timeout_error, transport_error: the plan is then poisoned.
  void exclusive_scan(const operands& local, const results& to) { start_exclusive_scan(local, to).wait(); }
  void exclusive_scan(const operands& local, tensor_view<scalar> carry) { exclusive_scan(local, results{.carry = carry}); }

  /// Inclusive scan: the state after each rank's last token. As exclusive_scan() with only `outgoing` asked for.
  void inclusive_scan(const operands& local, tensor_view<scalar> outgoing) {
    exclusive_scan(local, results{.outgoing = outgoing});
  }

  /// The same without waiting. One scan of a plan at a time; any number of plans.
  started_scan start_exclusive_scan(const operands& local, const results& to) {
    const scan_call<Combiner> call = check(local, to);
    const scan_request want{
        .carry = call.carry != nullptr, .outgoing = call.outgoing != nullptr, .initial_carry = call.initial != nullptr};
    return {executor_, executor_->start(schedules_[variant(want)], call)};
  }
  started_scan start_exclusive_scan(const operands& local, tensor_view<scalar> carry) {
    return start_exclusive_scan(local, results{.carry = carry});
  }
  started_scan start_inclusive_scan(const operands& local, tensor_view<scalar> outgoing) {
    return start_exclusive_scan(local, results{.outgoing = outgoing});
  }

  [[nodiscard]] int rank() const { return executor_->communicator().rank(); }
  [[nodiscard]] int size() const { return executor_->communicator().size(); }
  [[nodiscard]] const state_shape& shape() const { return shape_; }
  /// The pipeline steps in use: what was asked for or chosen, at most one a unit.
  [[nodiscard]] std::size_t blocks() const { return blocks_; }
  [[nodiscard]] enum algorithm algorithm() const { return algorithm_; }
  /// Bytes of workspace that this plan needs; plans that share a workspace share them.
  [[nodiscard]] std::size_t workspace_bytes() const { return executor_->workspace_bytes(); }
  [[nodiscard]] const scan_statistics& statistics() const { return executor_->statistics(); }
  /// Drives every live scan of this rank's communicator without waiting.
  void progress() { executor_->communicator().endpoint().progress(); }
  /// What was chosen, and why, in one line.
  [[nodiscard]] std::string describe() const {
    return std::string{to_string(algorithm_)} +
           (options_.algorithm == algorithm::automatic ? " (chosen: moves the state once)" : " (asked for)") + ", " +
           std::to_string(blocks_) + (blocks_ == 1 ? " block" : " blocks") +
           (options_.blocks == 0 ? " (chosen for " : " (asked for; ") + std::to_string(size()) +
           (size() == 1 ? " rank and " : " ranks and ") + std::to_string(shape_.elements() * sizeof(scalar)) +
           " bytes of state), " + std::string{kind::name} + " transition, " + std::string{to_string(options_.direction)} +
           ", transport " + std::string{executor_->communicator().name()} + ", workspace " + std::to_string(workspace_bytes()) +
           " bytes";
  }

 private:
  static constexpr std::size_t most_blocks = 65536;
  using executor = scan_executor<Communicator, Combiner>;

  // Everything local that can fail does so here, before the ranks agree.
  void prepare(const Communicator& comm, Combiner combiner, seconds timeout) {
    validate(shape_);
    kind::validate(shape_);
    if (!(timeout.count() >= 0)) throw invalid_argument("options.timeout is negative: pass seconds, 0 for no deadline");
    if (options_.direction != direction::forward && options_.direction != direction::reverse) {
      throw invalid_argument("options.direction is neither forward nor reverse");
    }
    algorithm_ = options_.algorithm == algorithm::automatic ? algorithm::chain : options_.algorithm;
    const std::size_t units = shape_.elements() == 0 ? 0 : kind::units(shape_);  // rows of no columns are nothing to scan
    const std::size_t wanted =
        options_.blocks != 0 ? options_.blocks : choose_blocks(comm.size(), shape_.elements() * sizeof(scalar));
    blocks_ = std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(units, 1));
    if (blocks_ > most_blocks) {
      throw invalid_argument("options.blocks is " + std::to_string(wanted) + ": at most " + std::to_string(most_blocks) +
                             " pay off");
    }
    std::vector<unit_range> ranges(blocks_);
    for (std::size_t k = 0; units != 0 && k < blocks_; ++k) ranges[k] = kind::block(shape_, blocks_, k);

    const bool reversed = options_.direction == direction::reverse;
    position_ = reversed ? comm.size() - 1 - comm.rank() : comm.rank();
    executor_ = std::make_shared<executor>(comm, std::move(combiner), shape_, reversed, timeout);
    for (const bool initial : {false, true}) {
      if (initial && position_ != 0) break;
      for (const auto& [carry, outgoing] : {std::pair{true, false}, std::pair{false, true}, std::pair{true, true}}) {
        const scan_request want{.carry = carry, .outgoing = outgoing, .initial_carry = initial};
        schedules_[variant(want)] = executor_->add(make_schedule(make_program(comm.size(), ranges, want)));
      }
    }
    if (options_.workspace == nullptr) options_.workspace = std::make_shared<scan_workspace>();
    options_.workspace->reserve(executor_->workspace_bytes());
  }

  [[nodiscard]] program make_program(int size, block_list ranges, const scan_request& want) const {
    switch (algorithm_) {
      case algorithm::chain: return chain::make_program(position_, size, ranges, want);
      case algorithm::gather: return gather::make_program(position_, size, ranges, want);
      case algorithm::automatic: break;
    }
    throw invalid_argument("options.algorithm is none of the algorithms");
  }

  void propose(proposal& mine, std::uint32_t channel) const {
    mine.add("construction number", channel);
    mine.add("kind", kind::name);
    mine.add("shape", to_string(shape_));
    mine.add("options.blocks", options_.blocks);
    mine.add("options.direction", to_string(options_.direction));
    mine.add("options.algorithm", to_string(options_.algorithm));
    mine.add("options.deterministic", options_.deterministic ? "true" : "false");
    mine.add("allscan version", std::size_t{ALLSCAN_VERSION});
    mine.add("combiner", type_name<Combiner>());
  }

  static constexpr std::size_t variant(const scan_request& want) {
    return (want.outgoing ? (want.carry ? 2U : 1U) : 0U) + (want.initial_carry ? 3U : 0U);
  }

  [[nodiscard]] scan_call<Combiner> check(const operands& local, const results& to) const {
    try {
      return check_operands(local, to);
    } catch (const invalid_argument& e) {
      throw invalid_argument("rank " + std::to_string(rank()) + ": " + e.what());
    }
  }

  [[nodiscard]] scan_call<Combiner> check_operands(const operands& local, const results& to) const {
    const resolved_operands<Combiner> given = resolve<Combiner>(shape_, local);
    const std::size_t elements = shape_.elements();
    scan_call<Combiner> call{.state = given.state,
                             .transition = given.transition,
                             .initial = given.initial_carry,
                             .carry = to.carry.optional(elements, "carry"),
                             .outgoing = to.outgoing.optional(elements, "outgoing")};
    if (elements == 0) return call;
    if (call.carry == nullptr && call.outgoing == nullptr)
      throw invalid_argument("no result is asked for: pass carry or outgoing");
    if (call.initial != nullptr && position_ != 0) {
      throw invalid_argument("initial_carry belongs to the first rank of the direction: pass it there only");
    }
    if (overlap(call.carry, elements, call.outgoing, elements))
      throw invalid_argument("carry and outgoing overlap: pass two tensors");
    for (scalar* const out : {call.carry, call.outgoing}) {
      call.overwrites_state |= lies_on(out, call.state, "state");
      call.overwrites_initial |= lies_on(out, call.initial, "initial_carry");
      const std::size_t numbers = kind::transitions(shape_);
      apart(out, call.transition.log_decay, numbers, "log_decay");
      apart(out, call.transition.angle, numbers, "angle");
      const bool matrices = kind::unit == unit_form::column;
      apart(out, call.transition.transition, matrices ? numbers * shape_.key_dim * shape_.key_dim : numbers, "transition");
      apart(out, call.transition.reset, shape_.batch, "reset");
    }
    return call;
  }

  template <class T>
  void apart(const scalar* out, const T* operand, std::size_t count, const char* name) const {
    if (overlap(out, shape_.elements(), operand, count)) {
      throw invalid_argument(std::string{"a result overlaps "} + name + ": pass memory of its own");
    }
  }

  [[nodiscard]] bool lies_on(const scalar* out, const scalar* operand, const char* name) const {
    if (!overlap(out, shape_.elements(), operand, shape_.elements())) return false;
    if (out != operand) {
      throw invalid_argument(std::string{"a result overlaps part of "} + name + ": let it lie exactly on it, or beside it");
    }
    return true;
  }

  template <class T, class U>
  [[nodiscard]] static bool overlap(const T* a, std::size_t a_count, const U* b, std::size_t b_count) {
    if (a == nullptr || b == nullptr) return false;
    const auto* a_bytes = reinterpret_cast<const std::byte*>(a);
    const auto* b_bytes = reinterpret_cast<const std::byte*>(b);
    const std::less<> before;
    return before(a_bytes, b_bytes + b_count * sizeof(U)) && before(b_bytes, a_bytes + a_count * sizeof(T));
  }

  state_shape shape_;
  scan_options options_;
  enum algorithm algorithm_ = algorithm::automatic;
  std::size_t blocks_ = 1;
  int position_ = 0;
  std::array<std::size_t, 6> schedules_{};  // by variant()
  std::shared_ptr<executor> executor_;
};

}  // namespace allscan
