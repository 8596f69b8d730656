/// Counts this thread's heap allocations (malloc and its kin, and so operator new), for one test program: include it once.
/// Sanitizers replace the allocator themselves: with them nothing is counted and `counted` is false.
#pragma once

#include <cerrno>
#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ALLSCAN_TEST_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ALLSCAN_TEST_SANITIZED
#endif

namespace allocations {

#if defined(ALLSCAN_TEST_SANITIZED)
inline constexpr bool counted = false;
#else
inline constexpr bool counted = true;
#endif

inline thread_local std::size_t count = 0;
inline thread_local int paused = 0;  ///< inside calls whose allocations are not ours

/// Allocations inside are not counted.
struct pause {
  pause() { ++paused; }
  ~pause() { --paused; }
  pause(const pause&) = delete;
  pause& operator=(const pause&) = delete;
};

inline void note() {
  if (paused == 0) ++count;
}

}  // namespace allocations

#if !defined(ALLSCAN_TEST_SANITIZED)
// glibc lets a program define these and reach its own through the other names.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) noexcept {
  allocations::note();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t n, std::size_t bytes) noexcept {
  allocations::note();
  return __libc_calloc(n, bytes);
}
void* realloc(void* p, std::size_t bytes) noexcept {
  allocations::note();
  return __libc_realloc(p, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  allocations::note();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** p, std::size_t alignment, std::size_t bytes) noexcept {
  allocations::note();
  *p = __libc_memalign(alignment, bytes);
  return *p == nullptr ? ENOMEM : 0;
}
}
#endif
