/// One rank's side of a communicator that no transport needs to know: its live operations, channel numbers and health.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace allscan {

/// Something in flight that moves on when polled, such as a started scan.
class live_operation {
 public:
  live_operation() = default;
  live_operation(const live_operation&) = delete;
  live_operation& operator=(const live_operation&) = delete;
  virtual ~live_operation() = default;

  /// Does what can be done without waiting. Failures are kept for the operation's own wait().
  virtual void advance() noexcept = 0;

 private:
  friend class endpoint;
  live_operation* previous_ = nullptr;
  live_operation* next_ = nullptr;
};

/// Used by one thread at a time, as the communicator it belongs to.
class endpoint {
 public:
  void add(live_operation& operation) noexcept {
    operation.previous_ = last_;
    operation.next_ = nullptr;
    (last_ == nullptr ? first_ : last_->next_) = &operation;
    last_ = &operation;
  }
  void remove(live_operation& operation) noexcept {
    (operation.previous_ == nullptr ? first_ : operation.previous_->next_) = operation.next_;
    (operation.next_ == nullptr ? last_ : operation.next_->previous_) = operation.previous_;
  }
  /// Advances every live operation of this rank, in the order they were started: whoever waits drives them all, so ranks
  /// may wait for their scans in different orders.
  void progress() noexcept {
    for (live_operation* each = first_; each != nullptr;) {
      live_operation* next = each->next_;
      each->advance();
      each = next;
    }
  }

  /// Channel numbers: plans are constructed in one order on every rank, so counting is agreement (and is checked).
  /// Number 0 is the control channel.
  [[nodiscard]] std::uint32_t open_channel() noexcept { return ++channels_; }
  static constexpr std::uint32_t control_channel = 0;

  /// After a failed agreement the control channel carries messages that nobody will match.
  void poison() noexcept { poisoned_ = true; }
  [[nodiscard]] bool poisoned() const noexcept { return poisoned_; }

 private:
  live_operation* first_ = nullptr;
  live_operation* last_ = nullptr;
  std::uint32_t channels_ = control_channel;
  bool poisoned_ = false;
};

/// Keeps memory until the process ends, since a late message may still be written to it or read from it.
inline void keep_until_exit(std::shared_ptr<void> memory) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::shared_ptr<void>>;  // never destroyed, still reachable for leak checkers
  const std::lock_guard lock{mutex};
  kept.push_back(std::move(memory));
}

}  // namespace allscan
