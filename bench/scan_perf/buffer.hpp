/// Memory of operands and results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace scan_perf {

/// Cache lines, as the tensors of frameworks are aligned. Without it the allocator's whim is measured: on Zen 3, memcpy to an
/// address 16 bytes past its source's (modulo a page) is fifteen times slower than elsewhere.
template <class T>
struct aligned_allocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};

  aligned_allocator() = default;
  template <class U>
  aligned_allocator(const aligned_allocator<U>&) {}

  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), alignment)); }
  void deallocate(T* p, std::size_t) noexcept { ::operator delete(p, alignment); }
  friend bool operator==(const aligned_allocator&, const aligned_allocator&) = default;
};

template <class T>
using buffer = std::vector<T, aligned_allocator<T>>;

/// Reads one value of every cache line.
template <class T>
void touch(const buffer<T>& values) {
  constexpr std::size_t stride = 64 / sizeof(T);
  volatile T sink{};
  for (std::size_t i = 0; i < values.size(); i += stride) sink = values[i];
  (void)sink;
}

template <class T>
[[nodiscard]] std::uint64_t count_different(const T* values, const T* expected, std::size_t n) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < n; ++i) count += values[i] == expected[i] ? 0U : 1U;
  return count;
}

}  // namespace scan_perf
