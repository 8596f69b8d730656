/// A small generator, the same on every machine: any rank can make any other rank's summary again.
#pragma once

#include <cstdint>

namespace scan_perf {

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_{(seed + 1) * 0xd1342543de82ef95U} {}

  [[nodiscard]] std::uint32_t bits32() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return static_cast<std::uint32_t>((z ^ (z >> 31U)) >> 32U);
  }
  /// From least to most, both included.
  [[nodiscard]] int integer(int least, int most) {
    return least + static_cast<int>(bits32() % static_cast<std::uint32_t>(most - least + 1));
  }
  /// In [least, most).
  [[nodiscard]] float real(float least, float most) {
    return least + (most - least) * (static_cast<float>(bits32() >> 8U) * 0x1p-24F);
  }

 private:
  std::uint64_t state_;
};

}  // namespace scan_perf
