/// Memory for received and folded states. Plans may share one where only one of them is in flight at a time.
#pragma once

#include <allscan/core/error.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace allscan {

/// One rank's. Not for two threads at once.
class scan_workspace {
 public:
  static constexpr std::size_t alignment = 64;

  /// Grows to `bytes`. Plans call it when they are constructed.
  /// @throws invalid_argument if a plan that shares this workspace is in flight: its messages point here.
  void reserve(std::size_t bytes) {
    if (poisoned_) throw poisoned_error("a scan that used this workspace failed: make a new workspace and new plans");
    if (bytes <= bytes_) return;
    if (busy_) {
      throw invalid_argument(
          "the workspace is in use by a scan in flight and cannot grow: wait for the scan, or construct the "
          "largest plan first");
    }
    memory_.reset(
        static_cast<std::byte*>(::operator new(bytes, std::align_val_t{alignment})));  // if it throws, all is as before
    bytes_ = bytes;
  }
  [[nodiscard]] std::byte* data() const noexcept { return memory_.get(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// @throws invalid_argument if another plan in flight holds it; poisoned_error if one failed on it.
  void acquire() {
    if (poisoned_) throw poisoned_error("a scan that used this workspace failed: make a new workspace and new plans");
    if (busy_) throw invalid_argument("another scan in flight uses this workspace: wait for it first");
    busy_ = true;
  }
  void release() noexcept { busy_ = false; }
  void poison() noexcept { poisoned_ = true; }
  [[nodiscard]] bool poisoned() const noexcept { return poisoned_; }

 private:
  struct free_aligned {
    void operator()(std::byte* p) const noexcept { ::operator delete(p, std::align_val_t{alignment}); }
  };
  std::unique_ptr<std::byte, free_aligned> memory_;
  std::size_t bytes_ = 0;
  bool busy_ = false;
  bool poisoned_ = false;
};

}  // namespace allscan
