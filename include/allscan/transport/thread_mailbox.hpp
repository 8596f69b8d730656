/// Where the messages between two threads meet: the requests of thread.hpp and the queues they wait in.
#pragma once

#include <allscan/core/deadline.hpp>
#include <allscan/core/endpoint.hpp>
#include <allscan/core/error.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace allscan::thread {

class request;

namespace detail {

/// Requests that wait for their counterpart, oldest first. Intrusive: a request is in one queue at most.
class queue {
 public:
  void push(request& r) noexcept;
  void erase(request& r) noexcept;
  [[nodiscard]] request* find(std::uint32_t channel) const noexcept;

 private:
  request* first_ = nullptr;
  request* last_ = nullptr;
};

/// What goes from one rank to one other. For each channel at most one of the queues holds requests.
struct alignas(64) mailbox {
  std::mutex mutex;  // guards the queues, and every change of a request's state that its owner did not make alone
  queue sends;
  queue receives;
};

struct alignas(64) seat {
  allscan::endpoint endpoint;
};

struct group_state {
  group_state(int ranks, bool lend) : size{ranks}, windows{lend}, seats(count(ranks)), mailboxes(count(ranks) * count(ranks)) {}

  static std::size_t count(int ranks) {
    if (ranks < 1) {
      throw invalid_argument("a thread group of " + std::to_string(ranks) + " ranks: pass at least 1");
    }
    return static_cast<std::size_t>(ranks);
  }
  mailbox& between(int source, int destination) {
    return mailboxes[static_cast<std::size_t>(source) * static_cast<std::size_t>(size) + static_cast<std::size_t>(destination)];
  }

  const int size;
  const bool windows;
  std::vector<seat> seats;
  std::vector<mailbox> mailboxes;  // [source, destination]
};

}  // namespace detail

/// One message of one side. Destroying a started request withdraws it first, as cancel() does; it keeps the group alive.
class request {
 public:
  request() = default;
  request(const request&) = delete;
  request& operator=(const request&) = delete;
  ~request() {
    withdraw();
    end_loan();
  }

 private:
  friend class communicator;
  friend class detail::queue;

  enum class state {
    done,      // or never started
    queued,    // waits for its counterpart
    copying,   // the counterpart's thread is copying
    lent,      // a send whose memory the receiver reads
    mismatch,  // a receive whose counterpart had another size
  };

  [[nodiscard]] detail::mailbox& box() const { return group_->between(source_, destination_); }

  /// Meets the oldest counterpart of its channel, or queues up for one.
  void start() noexcept;
  /// True if the memory is free from now on. Afterwards nothing refers to this request, whatever the result.
  bool withdraw() noexcept;
  /// A receive stops reading its sender's memory.
  void end_loan() noexcept;

  std::shared_ptr<detail::group_state> group_;
  std::atomic<state> state_{state::done};
  bool is_send_ = false;
  std::uint32_t channel_ = 0;
  int source_ = 0;
  int destination_ = 0;
  const std::byte* from_ = nullptr;  // a send's memory; of a receive what data() returns
  std::byte* to_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t sent_bytes_ = 0;  // of a receive with a mismatch
  request* partner_ = nullptr;  // the other side of a loan
  request* previous_ = nullptr;
  request* next_ = nullptr;
};

inline void detail::queue::push(request& r) noexcept {
  r.previous_ = last_;
  r.next_ = nullptr;
  (last_ == nullptr ? first_ : last_->next_) = &r;
  last_ = &r;
}

inline void detail::queue::erase(request& r) noexcept {
  (r.previous_ == nullptr ? first_ : r.previous_->next_) = r.next_;
  (r.next_ == nullptr ? last_ : r.next_->previous_) = r.previous_;
}

inline request* detail::queue::find(std::uint32_t channel) const noexcept {
  request* each = first_;
  while (each != nullptr && each->channel_ != channel) each = each->next_;
  return each;
}

inline void request::start() noexcept {
  detail::queue& counterparts = is_send_ ? box().receives : box().sends;
  detail::queue& own = is_send_ ? box().sends : box().receives;
  request* other = nullptr;
  {
    const std::lock_guard lock{box().mutex};
    other = counterparts.find(channel_);
    if (other == nullptr) {
      state_.store(state::queued, std::memory_order_relaxed);
      own.push(*this);
      return;
    }
    counterparts.erase(*other);
    request& send = is_send_ ? *this : *other;
    request& receive = is_send_ ? *other : *this;
    if (send.bytes_ != receive.bytes_) {
      receive.sent_bytes_ = send.bytes_;
      send.state_.store(state::done, std::memory_order_release);
      receive.state_.store(state::mismatch, std::memory_order_release);
      return;
    }
    if (group_->windows) {
      send.partner_ = &receive;
      receive.partner_ = &send;
      receive.from_ = send.from_;
      send.state_.store(state::lent, std::memory_order_release);
      receive.state_.store(state::done, std::memory_order_release);
      return;
    }
    other->state_.store(state::copying, std::memory_order_relaxed);
  }
  const request& send = is_send_ ? *this : *other;
  const request& receive = is_send_ ? *other : *this;
  if (bytes_ != 0) std::memcpy(receive.to_, send.from_, bytes_);
  state_.store(state::done, std::memory_order_relaxed);
  other->state_.store(state::done, std::memory_order_release);  // its owner may destroy it from here on
}

inline bool request::withdraw() noexcept {
  if (state_.load(std::memory_order_acquire) == state::done) return true;
  {
    const std::lock_guard lock{box().mutex};
    if (state_.load(std::memory_order_relaxed) == state::queued) {
      (is_send_ ? box().sends : box().receives).erase(*this);
      state_.store(state::done, std::memory_order_relaxed);
      return true;
    }
  }
  const deadline moment{seconds{0.02}};
  for (backoff wait;; wait.pause()) {
    const state now = state_.load(std::memory_order_acquire);
    if (now == state::done || now == state::mismatch) return true;
    if (now == state::lent && moment.expired()) break;
  }
  const std::lock_guard lock{box().mutex};
  if (state_.load(std::memory_order_relaxed) == state::done) return true;
  partner_->partner_ = nullptr;
  partner_ = nullptr;
  state_.store(state::done, std::memory_order_relaxed);
  return false;
}

inline void request::end_loan() noexcept {
  if (is_send_ || !group_ || !group_->windows) return;
  const std::lock_guard lock{box().mutex};
  if (partner_ == nullptr) return;
  partner_->partner_ = nullptr;
  partner_->state_.store(state::done, std::memory_order_release);
  partner_ = nullptr;
}

}  // namespace allscan::thread
