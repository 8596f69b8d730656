/// Ranks that are threads of one process.
///
///   allscan::thread::run(4, [](allscan::thread::communicator comm) { ... });     // four threads, one rank each
///
///   allscan::thread::group group{4};                                             // or bring your own threads
///   allscan::thread::communicator comm = group.communicator(rank);
///
/// A message is copied once, from the sender's memory into the receiver's, by whichever of the two comes second and with no
/// lock held. With windows nothing is copied: a done receive reads the sender's own memory, and the send is done once the
/// receiver has released it. Starting allocates nothing; test() is one atomic load.
#pragma once

#include <allscan/core/concepts.hpp>
#include <allscan/core/endpoint.hpp>
#include <allscan/core/error.hpp>
#include <allscan/transport/thread_mailbox.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace allscan::thread {

/// The same for every rank of a group.
struct options {
  bool windows = false;  ///< receivers read the sender's memory in place instead of getting a copy
};

/// One rank's handle. Copies share everything; one thread at a time uses them.
class communicator {
 public:
  using request = thread::request;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return group_->size; }
  [[nodiscard]] std::string_view name() const noexcept { return group_->windows ? "thread windows" : "thread"; }
  [[nodiscard]] allscan::endpoint& endpoint() noexcept { return group_->seats[static_cast<std::size_t>(rank_)].endpoint; }

  void send(std::uint32_t channel, int peer, const std::byte* data, std::size_t bytes, request& r) {
    prepare(channel, peer, bytes, r, true);
    r.from_ = data;
    r.start();
  }
  void receive(std::uint32_t channel, int peer, std::byte* data, std::size_t bytes, request& r) {
    prepare(channel, peer, bytes, r, false);
    r.to_ = data;
    r.from_ = data;
    r.start();
  }

  /// @throws transport_error from a receive whose message had another size; nothing was copied, both sides are done.
  [[nodiscard]] bool test(request& r) {
    const request::state now = r.state_.load(std::memory_order_acquire);
    if (now == request::state::mismatch) {
      r.state_.store(request::state::done, std::memory_order_relaxed);
      throw transport_error("rank " + std::to_string(r.destination_) + " expected " + std::to_string(r.bytes_) +
                                " bytes from rank " + std::to_string(r.source_) + " on channel " + std::to_string(r.channel_) +
                                ", which sent " + std::to_string(r.sent_bytes_) + ": make both ranks pass the same size",
                            0, r.destination_, r.source_);
    }
    return now == request::state::done;
  }
  [[nodiscard]] const std::byte* data(const request& r) const noexcept { return r.from_; }
  void release(request& r) noexcept { r.end_loan(); }

  /// False only for a send whose memory the receiver is still reading after a moment.
  bool cancel(request& r) noexcept { return r.withdraw(); }

 private:
  friend class group;
  communicator(std::shared_ptr<detail::group_state> group, int rank) : group_{std::move(group)}, rank_{rank} {}

  void prepare(std::uint32_t channel, int peer, std::size_t bytes, request& r, bool is_send) const {
    if (peer < 0 || peer >= size()) {
      throw invalid_argument("rank " + std::to_string(rank_) + " names peer " + std::to_string(peer) + " in a group of " +
                             std::to_string(size()) + " ranks: pass a rank from 0 to " + std::to_string(size() - 1));
    }
    const request::state now = r.state_.load(std::memory_order_acquire);
    if ((now != request::state::done && now != request::state::mismatch) || (r.partner_ != nullptr && !r.is_send_)) {
      throw invalid_argument("rank " + std::to_string(rank_) + " starts a request towards rank " + std::to_string(peer) +
                             " that is still in use: wait until it is done and release it first");
    }
    if (r.group_ != group_) r.group_ = group_;
    r.is_send_ = is_send;
    r.channel_ = channel;
    r.source_ = is_send ? rank_ : peer;
    r.destination_ = is_send ? peer : rank_;
    r.bytes_ = bytes;
  }

  std::shared_ptr<detail::group_state> group_;
  int rank_;
};

/// The ranks of one process. Copies share everything, and so do the communicators, which may outlive the group.
class group {
 public:
  explicit group(int ranks, options o = {}) : state_{std::make_shared<detail::group_state>(ranks, o.windows)} {}

  [[nodiscard]] int size() const noexcept { return state_->size; }
  /// @throws invalid_argument if there is no such rank.
  [[nodiscard]] thread::communicator communicator(int rank) const {
    if (rank < 0 || rank >= size()) {
      throw invalid_argument("a thread group of " + std::to_string(size()) + " ranks has no rank " + std::to_string(rank));
    }
    return {state_, rank};
  }

 private:
  std::shared_ptr<detail::group_state> state_;
};

/// Calls f(communicator) on `ranks` new threads, one a rank, and joins them all.
/// Rethrows the exception of the lowest rank that failed; a timeout, likely provoked by another rank's failure, comes last.
template <class Function>
void run(int ranks, Function&& f, options o = {}) {
  const group all{ranks, o};
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(ranks));
  std::vector<std::exception_ptr> timeouts(static_cast<std::size_t>(ranks));
  {
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        const auto self = static_cast<std::size_t>(rank);
        try {
          f(all.communicator(rank));
        } catch (const timeout_error&) {
          timeouts[self] = std::current_exception();
        } catch (...) {
          failures[self] = std::current_exception();
        }
      });
    }
  }
  for (const auto* list : {&failures, &timeouts}) {
    for (const std::exception_ptr& each : *list) {
      if (each) std::rethrow_exception(each);
    }
  }
}

}  // namespace allscan::thread
