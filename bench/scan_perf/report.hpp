/// The table on stdout, the summary under it, and the JSON file.
#pragma once

#include "measure.hpp"
#include "options.hpp"

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace scan_perf {

struct row {
  std::string algorithm;
  std::string transport;
  kind_name kind = kind_name::diagonal;
  scan_name scan = scan_name::exclusive;
  bool reverse = false;
  int ranks = 1;
  std::size_t bytes = 0;                    // of one rank's state
  std::size_t blocks = 0;                   // 0: a baseline
  statistics time = {};                     // microseconds
  std::optional<std::uint64_t> wrong = {};  // over all ranks; empty: not checked
  std::vector<double> ratios = {};          // time / time of each baseline, paired by iteration, median; empty: a baseline

  /// Bytes over time, in GB/s (powers of ten).
  [[nodiscard]] double bandwidth() const { return static_cast<double>(bytes) / time.median / 1e3; }
};

/// Names of the baselines whose ratios the rows hold, in order. A scan's row has the ratio to the scan of its own form.
void print_header(const options& chosen, const std::string& transport, int ranks, const std::vector<std::string>& baselines);
void print_row(const row& each);
/// One line a size and scan: the fastest of ours, by its median, and its ratios.
void print_summary(const std::vector<row>& rows, const std::vector<std::string>& baselines);

/// A file that is opened before anything is measured and written at the end.
class json_file {
 public:
  /// @throws std::runtime_error if it cannot be opened.
  explicit json_file(const std::string& name);
  /// @throws std::runtime_error if it cannot be written.
  void write(const std::vector<row>& rows);

 private:
  std::string name_;
  std::ofstream file_;
};

}  // namespace scan_perf
