/// The library's macros: all of them.
#pragma once

/// major * 10000 + minor * 100 + patch. CMake reads this line; it is the one source of the version.
#define ALLSCAN_VERSION 100

/// Marks what host and device code share. Empty for a host compiler.
#if defined(__CUDACC__)
#define ALLSCAN_HOST_DEVICE __host__ __device__
#else
#define ALLSCAN_HOST_DEVICE
#endif

/// Keeps one copy of a loop in a binary, so that every caller gets the same rounding (the same contraction into FMA).
#if defined(__GNUC__) && !defined(__clang__)
#define ALLSCAN_NOINLINE __attribute__((noinline, noclone))
#else
#define ALLSCAN_NOINLINE __attribute__((noinline))
#endif
