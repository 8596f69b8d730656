/// A scan in flight.
#pragma once

#include <allscan/core/endpoint.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace allscan {

/// What a handle needs of the scan behind it, whatever its combiner and transport.
class scan_operation : public live_operation {
 public:
  virtual bool test(std::uint64_t scan) = 0;
  virtual void wait(std::uint64_t scan) = 0;
  virtual void abandon(std::uint64_t scan) noexcept = 0;
};

/// Returned by scan_plan::start_*. Movable. wait(), test() and progress() drive every live scan of the rank's communicator, so
/// ranks may wait for several scans in different orders. Until it is done, the operands must not be changed and the results
/// not be touched; both outlive the scan. A moved-from handle may only be assigned to or destroyed.
class [[nodiscard("a scan whose handle is dropped at once is waited for at once")]] started_scan {
 public:
  started_scan(std::shared_ptr<scan_operation> operation, std::uint64_t scan) : operation_{std::move(operation)}, scan_{scan} {}
  started_scan(started_scan&&) noexcept = default;
  started_scan& operator=(started_scan&& other) noexcept {
    if (this != &other) {
      if (operation_) operation_->abandon(scan_);
      operation_ = std::move(other.operation_);
      scan_ = other.scan_;
    }
    return *this;
  }
  started_scan(const started_scan&) = delete;
  started_scan& operator=(const started_scan&) = delete;
  /// Waits as wait() does. Does not throw: a failure poisons the plan and is logged.
  ~started_scan() {
    if (operation_) operation_->abandon(scan_);
  }

  /// Never waits. @returns true once the results are there and the operands are free. @throws as wait(), but for the deadline.
  bool test() { return operation_->test(scan_); }
  /// @throws timeout_error if a peer stays silent past the plan's timeout, transport_error if a message fails. The plan is then
  ///         poisoned, and the results are not to be used.
  void wait() { operation_->wait(scan_); }
  /// Does what can be done without waiting: for the inside of long computations.
  void progress() { (void)test(); }

 private:
  std::shared_ptr<scan_operation> operation_;
  std::uint64_t scan_;
};

}  // namespace allscan
