/// The messages of a running program: which are posted, sent, arrived, lent and given back.
#pragma once

#include <allscan/collective/schedule.hpp>
#include <allscan/core/concepts.hpp>
#include <allscan/core/endpoint.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace allscan {

/// One rank's side, by the steps of a schedule. Everything is allocated by prepare().
template <class Communicator>
class messages {
 public:
  /// @param reversed  position 0 is the last rank.
  messages(Communicator comm, bool reversed) : comm_{std::move(comm)}, reversed_{reversed} {}

  void prepare(const schedule& s) {
    states_.resize(std::max(states_.size(), s.nodes.size()));
    requests_ = std::shared_ptr<request[]>(new request[states_.size()]);
    arrived_.resize(std::max(arrived_.size(), s.receives.size()));
    sends_.resize(std::max(sends_.size(), s.sends.size()));
  }
  void connect(std::uint32_t channel) { channel_ = channel; }

  [[nodiscard]] Communicator& communicator() { return comm_; }
  [[nodiscard]] int rank_of(int position) const { return reversed_ ? comm_.size() - 1 - position : position; }

  void begin(const schedule& s) {
    schedule_ = &s;
    std::fill(states_.begin(), states_.end(), state{});
    std::fill(arrived_.begin(), arrived_.end(), std::size_t{0});
    std::fill(sends_.begin(), sends_.end(), progress{});
  }

  void receive(std::uint32_t i, std::span<std::byte> to) {
    states_[i].posted = to.data();
    comm_.receive(channel_, rank_of(schedule_->source.steps[i].peer), to.data(), to.size(), requests_[i]);
  }

  void send(std::uint32_t i, std::span<const std::byte> from) {
    const int peer = schedule_->source.steps[i].peer;
    comm_.send(channel_, rank_of(peer), from.data(), from.size(), requests_[i]);
    states_[i].forwards = reads_lent_memory(i);
    for (std::size_t q = 0; q < schedule_->sends.size(); ++q) {
      if (schedule_->sends[q].peer == peer) ++sends_[q].started;
    }
  }

  /// Never waits. Calls on_arrival(step, data) and on_sent(step) for what is done since the last time.
  template <class OnArrival, class OnSent>
  void poll(OnArrival&& on_arrival, OnSent&& on_sent) {
    for (std::size_t q = 0; q < schedule_->receives.size(); ++q) {
      const std::vector<std::uint32_t>& steps = schedule_->receives[q].steps;
      while (arrived_[q] < steps.size() && comm_.test(requests_[steps[arrived_[q]]])) {
        const std::uint32_t i = steps[arrived_[q]++];
        const std::byte* data = comm_.data(requests_[i]);
        states_[i].held = true;
        states_[i].lent = data != states_[i].posted;
        on_arrival(i, data);
      }
    }
    // Sends are looked at in order, the oldest first, for they end in order. Not so those that forward lent memory: around a
    // ring, each would wait for the next rank to give back what it forwards itself.
    for (std::size_t q = 0; q < schedule_->sends.size(); ++q) {
      const std::vector<std::uint32_t>& steps = schedule_->sends[q].steps;
      progress& sends = sends_[q];
      for (std::size_t k = sends.done; k < sends.started; ++k) {
        state& s = states_[steps[k]];
        if (!s.sent && (k == sends.done || s.forwards) && comm_.test(requests_[steps[k]])) {
          s.sent = true;
          on_sent(steps[k]);
        }
        if (s.sent && k == sends.done) ++sends.done;
      }
    }
  }

  /// Step `i` reads, as its `in`, memory that a peer has lent.
  [[nodiscard]] bool reads_lent_memory(std::uint32_t i) const {
    const std::int32_t from = schedule_->nodes[i].in_from;
    return from != schedule::none && states_[static_cast<std::size_t>(from)].lent;
  }
  [[nodiscard]] bool held(std::uint32_t i) const { return states_[i].held; }
  /// Nothing reads what receive step `i` got any more.
  void give_back(std::uint32_t i) {
    states_[i].held = false;
    comm_.release(requests_[i]);
  }

  /// The message that holds everything up: the oldest that has not arrived, else the oldest that was not taken.
  /// @returns its step, or schedule::none.
  [[nodiscard]] std::int32_t awaited() const {
    for (std::size_t q = 0; q < schedule_->receives.size(); ++q) {
      const std::vector<std::uint32_t>& steps = schedule_->receives[q].steps;
      if (arrived_[q] < steps.size()) return static_cast<std::int32_t>(steps[arrived_[q]]);
    }
    for (std::size_t q = 0; q < schedule_->sends.size(); ++q) {
      if (sends_[q].done < sends_[q].started) return static_cast<std::int32_t>(schedule_->sends[q].steps[sends_[q].done]);
    }
    return schedule::none;
  }

  /// Withdraws what is not done and gives back what is held. Where a message cannot be withdrawn, the requests and the
  /// communicator stay until the process ends. @returns false in that case: the messages' memory must stay, too.
  [[nodiscard]] bool cancel() {
    bool all = true;
    for (std::size_t q = 0; q < schedule_->sends.size(); ++q) {
      for (std::size_t k = sends_[q].done; k < sends_[q].started; ++k) {
        const std::uint32_t i = schedule_->sends[q].steps[k];
        if (states_[i].sent || comm_.cancel(requests_[i])) continue;
        all = false;
        // Somebody still reads, through us, what a peer has lent: it must not think that it has it back.
        if (states_[i].forwards) states_[static_cast<std::size_t>(schedule_->nodes[i].in_from)].held = false;
      }
    }
    for (std::size_t q = 0; q < schedule_->receives.size(); ++q) {
      const std::vector<std::uint32_t>& steps = schedule_->receives[q].steps;
      for (std::size_t k = 0; k < steps.size(); ++k) {
        if (k >= arrived_[q] && !comm_.cancel(requests_[steps[k]])) all = false;
        if (held(steps[k])) give_back(steps[k]);
      }
    }
    if (!all) {
      keep_until_exit(requests_);
      keep_until_exit(std::make_shared<Communicator>(comm_));
    }
    return all;
  }

 private:
  using request = typename Communicator::request;
  struct state {
    const std::byte* posted = nullptr;
    bool held = false;      ///< a receive that is done and not given back
    bool lent = false;      ///< a receive whose data is in the peer's memory
    bool forwards = false;  ///< a send from such memory
    bool sent = false;
  };
  struct progress {
    std::size_t started = 0;
    std::size_t done = 0;
  };

  Communicator comm_;
  bool reversed_;
  std::uint32_t channel_ = 0;
  const schedule* schedule_ = nullptr;
  std::shared_ptr<request[]> requests_;  // one a step
  std::vector<state> states_;            // one a step
  std::vector<std::size_t> arrived_;     // one a queue
  std::vector<progress> sends_;          // one a queue
};

}  // namespace allscan
