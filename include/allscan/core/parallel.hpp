/// Loops over independent items: OpenMP threads where the translation unit is compiled with OpenMP, else the calling thread.
#pragma once

#include <allscan/core/shape.hpp>

#include <cstddef>

#ifdef _OPENMP
#include <omp.h>

#include <exception>
#endif

namespace allscan {

/// Calls f(unit_range items, bool calling_thread) once per thread; the ranges partition [0, items) statically, the calling
/// thread's comes first. For work that keeps scratch memory over its items, or that may do something (drive communication)
/// on the calling thread only. Results must not depend on the partition. The first exception thrown by f is rethrown here.
template <class Function>
void parallel_ranges(std::size_t items, Function&& f) {
  if (items == 0) return;
#ifdef _OPENMP
  std::exception_ptr failure;
#pragma omp parallel default(shared) if (items > 1)
  {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    const unit_range mine = even_part(items, static_cast<std::size_t>(omp_get_num_threads()), thread);
    try {
      if (!mine.empty()) f(mine, thread == 0);
    } catch (...) {
#pragma omp critical(allscan_parallel_failure)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
#else
  f(unit_range{0, items}, true);
#endif
}

/// Calls f(i) for every i of [0, items).
template <class Function>
void parallel_for(std::size_t items, Function&& f) {
  parallel_ranges(items, [&f](unit_range mine, bool) {
    for (std::size_t i = mine.begin; i < mine.end; ++i) f(i);
  });
}

}  // namespace allscan
