/// One register of numbers, in the vector extension that g++ and clang share: for the loops that must be vectorised whatever a
/// compiler makes of plain ones.
#pragma once

#include <cstddef>
#include <cstring>

namespace allscan::kernel {

#ifdef __AVX__
inline constexpr std::size_t register_bytes = 32;
#else
inline constexpr std::size_t register_bytes = 16;
#endif

template <class T>
struct simd {
  static constexpr std::size_t lanes = register_bytes / sizeof(T);

  using vector __attribute__((vector_size(register_bytes))) = T;

  static vector load(const T* from) {
    vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
  static void store(const vector& v, T* to) { std::memcpy(to, &v, sizeof v); }

  static T sum(const vector& v) {
    T part[lanes];
    store(v, part);
    for (std::size_t width = lanes / 2; width > 0; width /= 2) {
      for (std::size_t l = 0; l < width; ++l) part[l] += part[l + width];
    }
    return part[0];
  }
};

}  // namespace allscan::kernel
