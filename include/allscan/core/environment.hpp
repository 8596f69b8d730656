/// Every environment variable the library reads, in one table. Options given in code win over the environment.
#pragma once

#include <allscan/core/error.hpp>

#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

namespace allscan::environment {

struct variable {
  std::string_view name;
  std::string_view fallback;
  std::string_view meaning;
};

inline constexpr variable timeout{"ALLSCAN_TIMEOUT", "120", "seconds a silent peer is waited for; 0 = for ever"};
inline constexpr variable log{"ALLSCAN_LOG", "off", "off, info (plans and failures) or debug (each scan), to stderr"};

/// The table itself, for documentation and for tests that hold the two together.
inline constexpr variable table[] = {timeout, log};

[[nodiscard]] inline std::string get(const variable& v) {
  const char* value = std::getenv(v.name.data());  // NOLINT(concurrency-mt-unsafe): read only, never set by the library
  return value == nullptr || *value == '\0' ? std::string{v.fallback} : std::string{value};
}

/// @throws invalid_argument if the variable holds no finite, non-negative number.
[[nodiscard]] inline double get_seconds(const variable& v) {
  const std::string text = get(v);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !std::isfinite(value) || value < 0) {
    throw invalid_argument(std::string{v.name} + " is \"" + text + "\": pass a number of seconds, 0 for no deadline");
  }
  return value;
}

}  // namespace allscan::environment
