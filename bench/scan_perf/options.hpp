/// What scan_perf is asked to measure.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace scan_perf {

enum class kind_name { none, scalar, diagonal, elementwise, rotation, dense };
enum class scan_name { exclusive, inclusive };

[[nodiscard]] std::string_view to_string(kind_name kind);
[[nodiscard]] std::string_view to_string(scan_name scan);

struct options {
  std::size_t begin = std::size_t{64} << 10;  // bytes of one rank's state, transitions excluded
  std::size_t end = std::size_t{16} << 20;
  std::size_t factor = 4;
  std::size_t iterations = 21;
  std::size_t warmup = 5;
  bool check = true;
  std::vector<std::string> algorithms = {"chain", "gather"};
  kind_name kind = kind_name::diagonal;
  std::vector<scan_name> scans = {scan_name::exclusive};
  bool reverse = false;
  std::vector<std::size_t> blocks = {0};  // 0: the plan's choice
  int threads = 0;                        // 0: ranks are MPI processes
  bool windows = false;
  std::string json;  // file name; empty: none
  bool help = false;
};

/// The command line cannot be used; what() is one line.
class usage_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// @throws usage_error
[[nodiscard]] options parse(int argc, const char* const* argv);
[[nodiscard]] std::string help_text();

/// begin, begin * factor, ... up to end.
[[nodiscard]] std::vector<std::size_t> sizes(const options& chosen);

}  // namespace scan_perf
