/// How long to wait, and how to wait without burning a core that the awaited rank may need.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

namespace allscan {

using seconds = std::chrono::duration<double>;

/// "2.5 s", for error messages.
[[nodiscard]] inline std::string to_string(seconds s) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%g s", s.count());
  return text;
}

/// A point in time past which waiting ends. A duration of 0 means never.
class deadline {
 public:
  using clock = std::chrono::steady_clock;

  explicit deadline(seconds timeout) : timeout_{timeout} { restart(); }

  /// Starts the full duration again: whoever was waited for has given a sign of life.
  void restart() { start_ = clock::now(); }
  [[nodiscard]] bool expired() const { return timeout_.count() > 0 && clock::now() - start_ > timeout_; }
  [[nodiscard]] seconds timeout() const { return timeout_; }

 private:
  seconds timeout_;
  clock::time_point start_;
};

/// Waits between two polls: first not at all, then by yielding, at last by sleeping, so that more ranks than cores get on.
class backoff {
 public:
  void pause() {
    if (polls_ < spins + yields) ++polls_;
    if (polls_ < spins) return;
    if (polls_ < spins + yields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  void reset() { polls_ = 0; }

 private:
  static constexpr int spins = 256;
  static constexpr int yields = 4096;
  int polls_ = 0;
};

}  // namespace allscan
