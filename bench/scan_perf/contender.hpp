/// One thing that is timed: a scan of ours or a baseline.
#pragma once

#include "buffer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace scan_perf {

class contender {
 public:
  contender() = default;
  contender(const contender&) = delete;
  contender& operator=(const contender&) = delete;
  virtual ~contender() = default;

  [[nodiscard]] virtual std::string algorithm() const = 0;
  [[nodiscard]] virtual std::size_t blocks() const { return 0; }  // 0: a baseline, which has none
  [[nodiscard]] bool baseline() const { return blocks() == 0; }

  /// Before each run, not timed: clears the result, so that a stale one cannot pass for right, and reads the operands, as if
  /// this rank had just computed them. So no contender pays or gains by what ran before it.
  virtual void prepare() = 0;
  virtual void run() = 0;
  /// Wrong elements of this rank's last result. Every rank calls it after a run of its own.
  [[nodiscard]] virtual std::uint64_t wrong() = 0;
};

/// Every rank copies its state, all at once: what one pass through memory costs here.
class memcpy_contender final : public contender {
 public:
  explicit memcpy_contender(std::size_t elements) : from_(elements), to_(elements) {
    for (std::size_t i = 0; i < elements; ++i) from_[i] = static_cast<float>(i % 1021);
  }

  [[nodiscard]] std::string algorithm() const override { return "memcpy"; }
  void prepare() override {
    std::fill(to_.begin(), to_.end(), -1.0F);
    touch(from_);
  }
  void run() override { std::memcpy(to_.data(), from_.data(), from_.size() * sizeof(float)); }
  [[nodiscard]] std::uint64_t wrong() override { return count_different(to_.data(), from_.data(), to_.size()); }

 private:
  buffer<float> from_;
  buffer<float> to_;
};

}  // namespace scan_perf
