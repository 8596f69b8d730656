/// Runs programs over any transport, a step as soon as what it reads is there.
#pragma once

#include <allscan/collective/messages.hpp>
#include <allscan/collective/placement.hpp>
#include <allscan/collective/schedule.hpp>
#include <allscan/collective/started_scan.hpp>
#include <allscan/collective/workspace.hpp>
#include <allscan/combiner/kinds.hpp>
#include <allscan/combiner/transition.hpp>
#include <allscan/core/concepts.hpp>
#include <allscan/core/deadline.hpp>
#include <allscan/core/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace allscan {

/// What a plan's scans have cost this rank since it was constructed.
struct scan_statistics {
  std::uint64_t scans = 0;
  std::uint64_t bytes_sent = 0;
  double seconds_total = 0;    ///< from the start of a scan to its results being there, summed
  double seconds_exposed = 0;  ///< the part of it spent in wait(), folds and copies done there included
};

/// Runs one schedule at a time. Everything is allocated by add(); a scan allocates nothing.
template <class Communicator, class Combiner>
class scan_executor final : public scan_operation {
 public:
  using scalar = typename Combiner::scalar;
  using kind = typename Combiner::kind;

  /// @param reversed  position 0 is the last rank.
  scan_executor(Communicator comm, Combiner combiner, const state_shape& shape, bool reversed, seconds timeout)
      : combiner_{std::move(combiner)},
        shape_{shape},
        timeout_{timeout},
        messages_{std::move(comm), reversed},
        memory_{shape} {}

  /// Makes room for running one more schedule. @returns its number, for start().
  std::size_t add(schedule s) {
    nodes_.resize(std::max(nodes_.size(), s.nodes.size()));
    ready_.resize(nodes_.size());
    deferred_.resize(nodes_.size());
    messages_.prepare(s);
    memory_.prepare(s);
    schedules_.push_back(std::move(s));
    return schedules_.size() - 1;
  }
  [[nodiscard]] std::size_t workspace_bytes() const { return memory_.bytes(); }
  void connect(std::uint32_t channel, std::shared_ptr<scan_workspace> workspace) {
    messages_.connect(channel);
    workspace_ = std::move(workspace);
  }

  [[nodiscard]] const scan_statistics& statistics() const { return statistics_; }
  [[nodiscard]] Communicator& communicator() { return messages_.communicator(); }
  [[nodiscard]] const Combiner& combiner() const { return combiner_; }

  /// @returns the number of the scan, for the other calls. @throws invalid_argument or poisoned_error before anything is sent.
  std::uint64_t start(std::size_t which, const scan_call<Combiner>& call) {
    if (phase_ == phase::live)
      throw invalid_argument(rank_text() + "this plan's last scan is still in flight: wait for it first");
    if (phase_ == phase::poisoned)
      throw poisoned_error(rank_text() + "this plan is poisoned, make a new one. It failed before: " + failure_text_);
    workspace_->acquire();
    phase_ = phase::live;
    failure_ = nullptr;
    schedule_ = &schedules_[which];
    started_ = deadline::clock::now();
    ++scan_;
    communicator().endpoint().add(*this);
    try {
      memory_.begin(*schedule_, call, workspace_->data());
      begin();
    } catch (...) {
      failure_ = std::current_exception();
    }
    return scan_;
  }

  void advance() noexcept override {
    if (failure_) return;
    const std::size_t left_before = left_;
    try {
      messages_.poll([this](std::uint32_t i, const std::byte* data) { arrived(i, data); },
                     [this](std::uint32_t i) { sent(i); });
      if (left_ == left_before && deferred_begin_ < deferred_end_) deliver_some();
      if (left_ == 0) finish();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  bool test(std::uint64_t scan) override {
    if (scan != scan_ || phase_ == phase::idle) return true;
    if (phase_ == phase::poisoned) throw poisoned_error(rank_text() + "this scan failed before: " + failure_text_);
    communicator().endpoint().progress();
    if (failure_) raise();
    return phase_ == phase::idle;
  }

  void wait(std::uint64_t scan) override {
    const auto entered = deadline::clock::now();
    deadline until{timeout_};
    backoff idle;
    std::size_t left = left_;
    while (!test(scan)) {
      if (left != left_) {  // a peer has given a sign of life
        left = left_;
        until.restart();
        idle.reset();
      } else if (deferred_begin_ < deferred_end_) {
        continue;  // there is work to do meanwhile
      } else if (until.expired()) {
        // Once more: the last look may have been long ago, if another scan had much to fold meanwhile.
        if (!test(scan) && left == left_) raise_timeout();
      } else {
        idle.pause();
      }
    }
    statistics_.seconds_exposed += seconds{deadline::clock::now() - entered}.count();
  }

  void abandon(std::uint64_t scan) noexcept override {
    try {
      if (scan == scan_ && phase_ == phase::live) wait(scan);
    } catch (...) {  // wait() has poisoned the plan and logged why
    }
  }

 private:
  enum class phase { idle, live, poisoned };
  struct node_state {
    std::uint32_t waits = 0;
    std::uint32_t readers = 0;
    bool carry_free = false;  ///< a fold whose units all reset: it does not wait for the carry
  };

  [[nodiscard]] const step& step_at(std::uint32_t i) const { return schedule_->source.steps[i]; }
  [[nodiscard]] int rank() { return communicator().rank(); }
  [[nodiscard]] std::string rank_text() { return "rank " + std::to_string(rank()) + ": "; }

  void begin() {
    left_ = schedule_->nodes.size();
    ready_begin_ = ready_end_ = 0;
    deferred_begin_ = deferred_end_ = delivered_units_ = 0;
    messages_.begin(*schedule_);
    for (std::uint32_t i = 0; i < schedule_->nodes.size(); ++i) {
      const schedule::node& n = schedule_->nodes[i];
      nodes_[i] = {.waits = n.waits, .readers = n.readers};
      const step& s = step_at(i);
      if (n.may_skip_carry && kind::resets(combiner_, shape_, s.units, memory_.local_transition())) {
        nodes_[i].carry_free = true;
        --nodes_[i].waits;
      }
    }
    for (const schedule::queue& q : schedule_->receives) {
      for (const std::uint32_t i : q.steps) messages_.receive(i, memory_.receive_buffer(i));
    }
    for (std::uint32_t i = 0; i < schedule_->nodes.size(); ++i) {
      if (nodes_[i].waits == 0 && step_at(i).what != operation::receive) make_ready(i);
    }
    run_ready();
    if (left_ == 0) finish();
  }

  void make_ready(std::uint32_t i) { ready_[ready_end_++] = i; }

  void run_ready() {
    while (ready_begin_ < ready_end_) {
      const std::uint32_t i = ready_[ready_begin_++];
      const step& s = step_at(i);
      switch (s.what) {
        case operation::fold: memory_.fold(combiner_, i, nodes_[i].carry_free); break;
        case operation::deliver:
          if (memory_.lies_in_place(i)) break;
          if (!messages_.reads_lent_memory(i)) {
            deferred_[deferred_end_++] = i;
            continue;
          }
          memory_.deliver(combiner_, i, s.units);
          break;
        case operation::send: {
          const std::span<const std::byte> message = memory_.send_buffer(i);
          messages_.send(i, message);
          statistics_.bytes_sent += message.size();
          break;
        }
        case operation::receive: break;
      }
      if (s.what != operation::send) {
        read_done(i);
        --left_;
      }
      release_successors(i);
    }
  }

  // Copies into the caller's results are nobody else's business: they wait until no message moves, and are done in pieces, so
  // that a peer never waits for one.
  void deliver_some() {
    const std::uint32_t i = deferred_[deferred_begin_];
    const unit_range all = step_at(i).units;
    const std::size_t begin = all.begin + delivered_units_;
    const unit_range piece{begin, std::min(all.end, begin + memory_.units_a_piece(all))};
    memory_.deliver(combiner_, i, piece);
    delivered_units_ += piece.size();
    if (piece.end < all.end) return;
    delivered_units_ = 0;
    ++deferred_begin_;
    read_done(i);
    --left_;
  }

  void arrived(std::uint32_t i, const std::byte* data) {
    memory_.received(i, data);
    --left_;
    if (nodes_[i].readers == 0) messages_.give_back(i);
    release_successors(i);
    run_ready();
  }

  void sent(std::uint32_t i) {
    read_done(i);
    --left_;
  }

  void release_successors(std::uint32_t i) {
    const schedule::node& n = schedule_->nodes[i];
    for (std::uint32_t e = n.first_successor; e < n.first_successor + n.successors; ++e) {
      const std::uint32_t next = schedule_->successors[e];
      const bool as_carry = schedule_->nodes[next].in_from == static_cast<std::int32_t>(i);
      if (as_carry && nodes_[next].carry_free) continue;
      if (--nodes_[next].waits == 0) make_ready(next);
    }
  }

  // Memory that a peer lent goes back after its last reader.
  void read_done(std::uint32_t i) {
    const schedule::node& n = schedule_->nodes[i];
    for (const std::int32_t from : {n.in_from, n.summary_state_from, n.summary_transition_from}) {
      if (from == schedule::none) continue;
      const auto writer = static_cast<std::uint32_t>(from);
      if (--nodes_[writer].readers == 0 && messages_.held(writer)) messages_.give_back(writer);
    }
  }

  void finish() {
    phase_ = phase::idle;
    communicator().endpoint().remove(*this);
    workspace_->release();
    ++statistics_.scans;
    statistics_.seconds_total += seconds{deadline::clock::now() - started_}.count();
    if (trace::enabled(trace::level::debug)) {
      trace::write(trace::level::debug, rank(), std::string{schedule_->source.algorithm} + " scan done");
    }
  }

  // From here on the plan is of no more use; memory that a late message may touch stays until the process ends.
  void poison(const std::string& why) {
    phase_ = phase::poisoned;
    failure_ = nullptr;
    communicator().endpoint().remove(*this);
    workspace_->poison();
    failure_text_ = why;
    if (!messages_.cancel()) {
      keep_until_exit(workspace_);
      failure_text_ +=
          ". A message could not be cancelled: the operands and results of this call must stay alive until the process ends";
    }
    trace::write(trace::level::info, rank(), failure_text_);
  }

  [[noreturn]] void raise() {
    const std::exception_ptr failure = failure_;
    try {
      std::rethrow_exception(failure);
    } catch (const transport_error& e) {
      poison(e.what());
      throw transport_error(failure_text_, e.code(), e.rank(), e.peer());
    } catch (const std::exception& e) {
      poison(e.what());
      throw;
    } catch (...) {
      poison("the combiner threw something that is no std::exception");
      throw;
    }
  }

  [[noreturn]] void raise_timeout() {
    const std::int32_t i = messages_.awaited();
    if (i == schedule::none) throw error(rank_text() + "a scan waits for no message and is not done: its program is broken");
    const step& s = step_at(static_cast<std::uint32_t>(i));
    const int peer = messages_.rank_of(s.peer);
    const std::string name = "rank " + std::to_string(peer);
    const bool receives = s.what == operation::receive;
    poison(rank_text() + (receives ? "nothing came from " + name : name + " did not take what was sent to it") + " within " +
           to_string(timeout_) + " (" + std::string{schedule_->source.algorithm} + ", block " + std::to_string(s.block) +
           ", step " + std::to_string(i) + (receives ? ": receive" : ": send") + "). Is " + name +
           " alive, and does it call the same scan? Raise options.timeout or ALLSCAN_TIMEOUT if it is only slow");
    throw timeout_error(failure_text_, rank(), peer, static_cast<long>(s.block), i);
  }

  Combiner combiner_;
  state_shape shape_;
  seconds timeout_;
  messages<Communicator> messages_;
  placement<Combiner> memory_;
  std::shared_ptr<scan_workspace> workspace_;
  std::vector<schedule> schedules_;
  std::vector<node_state> nodes_;
  std::vector<std::uint32_t> ready_;     // each step becomes ready once
  std::vector<std::uint32_t> deferred_;  // deliveries to be done

  phase phase_ = phase::idle;
  const schedule* schedule_ = nullptr;
  std::uint64_t scan_ = 0;
  std::size_t left_ = 0;  // steps not done; a send is done when its memory is free
  std::size_t ready_begin_ = 0;
  std::size_t ready_end_ = 0;
  std::size_t deferred_begin_ = 0;
  std::size_t deferred_end_ = 0;
  std::size_t delivered_units_ = 0;  // of the first deferred
  std::exception_ptr failure_;
  std::string failure_text_;
  deadline::clock::time_point started_;
  scan_statistics statistics_;
};

}  // namespace allscan
