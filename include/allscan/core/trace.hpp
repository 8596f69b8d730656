/// The debug log: one line a message on stderr, switched by ALLSCAN_LOG.
#pragma once

#include <allscan/core/environment.hpp>

#include <cstdio>
#include <string>

namespace allscan::trace {

enum class level { off, info, debug };

/// Read once a process. @throws invalid_argument if ALLSCAN_LOG holds none of the three words.
[[nodiscard]] inline level threshold() {
  static const level read = [] {
    const std::string text = environment::get(environment::log);
    if (text == "off") return level::off;
    if (text == "info") return level::info;
    if (text == "debug") return level::debug;
    throw invalid_argument("ALLSCAN_LOG is \"" + text + "\": pass off, info or debug");
  }();
  return read;
}

/// True where a message of this level would be written: ask before building a costly one.
[[nodiscard]] inline bool enabled(level l) { return l <= threshold(); }

inline void write(level l, int rank, const std::string& message) {
  if (enabled(l)) std::fprintf(stderr, "allscan: rank %d: %s\n", rank, message.c_str());
}

}  // namespace allscan::trace
