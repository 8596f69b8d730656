#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <utility>

namespace scan_perf {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 100 ? "%.2f" : "%.1f", value);
  return text;
}

/// The MPI scan a row is compared with is the one of its own form.
std::string column_title(const std::string& baseline) {
  if (baseline == "mpi_exscan" || baseline == "mpi_scan") return "(ex)scan";
  if (baseline == "mpi_allgather_fold") return "ag+fold";
  return baseline.starts_with("mpi_") ? baseline.substr(4) : baseline;
}

}  // namespace

void print_header(const options& chosen, const std::string& transport, int ranks, const std::vector<std::string>& baselines) {
  std::printf("# scan_perf: %d ranks, transport %s, %s, %zu iterations after %zu of warmup\n", ranks, transport.c_str(),
              chosen.reverse ? "reverse" : "forward", chosen.iterations, chosen.warmup);
  std::printf("# size: one rank's state, transitions excluded. time: maximum over ranks an iteration. algbw: size / time\n");
  if (!baselines.empty()) std::printf("# t/NAME: time / time of baseline NAME in the same iteration, median\n");
  std::printf("#%11s %10s %6s %11s %9s %18s %6s %10s %10s %10s %8s", "size", "count", "type", "kind", "scan", "algorithm",
              "blocks", "time", "min", "max", "algbw");
  for (const auto& each : baselines) std::printf(" %11s", ("t/" + column_title(each)).c_str());
  std::printf(" %7s\n#%11s %10s %6s %11s %9s %18s %6s %10s %10s %10s %8s\n", "#wrong", "(B)", "(elements)", "", "", "", "", "",
              "(us)", "(us)", "(us)", "(GB/s)");
  std::fflush(stdout);
}

void print_row(const row& each) {
  const std::string blocks = each.blocks == 0 ? "-" : std::to_string(each.blocks);
  std::printf(" %11zu %10zu %6s %11s %9s %18s %6s %10s %10s %10s %8.3f", each.bytes, each.bytes / sizeof(float), "float",
              std::string{to_string(each.kind)}.c_str(), std::string{to_string(each.scan)}.c_str(), each.algorithm.c_str(),
              blocks.c_str(), number(each.time.median).c_str(), number(each.time.minimum).c_str(),
              number(each.time.maximum).c_str(), each.bandwidth());
  for (const double ratio : each.ratios)
    each.blocks == 0 ? (void)std::printf(" %11s", "-") : (void)std::printf(" %11.3f", ratio);
  std::printf(" %7s\n", each.wrong ? std::to_string(*each.wrong).c_str() : "N/A");
  std::fflush(stdout);
}

void print_summary(const std::vector<row>& rows, const std::vector<std::string>& baselines) {
  std::map<std::pair<std::size_t, scan_name>, const row*> fastest;
  for (const auto& each : rows) {
    if (each.blocks == 0) continue;
    const row*& best = fastest[{each.bytes, each.scan}];
    if (best == nullptr || each.time.median < best->time.median) best = &each;
  }
  for (const auto& [key, best] : fastest) {
    std::printf("# best at %zu B %s: %s, %zu blocks, %s us", key.first, std::string{to_string(key.second)}.c_str(),
                best->algorithm.c_str(), best->blocks, number(best->time.median).c_str());
    for (std::size_t i = 0; i < baselines.size(); ++i) {
      std::printf("%s%.3f x %s", i == 0 ? " = " : ", ", best->ratios[i], column_title(baselines[i]).c_str());
    }
    std::printf("\n");
  }
  std::fflush(stdout);
}

json_file::json_file(const std::string& name) : name_{name}, file_{name} {
  if (!file_) throw std::runtime_error("cannot open " + name + " for writing: pass --json a file in a writable folder");
}

void json_file::write(const std::vector<row>& rows) {
  file_ << "[";
  const char* separator = "\n";
  for (const auto& each : rows) {
    file_ << std::exchange(separator, ",\n") << R"({"algorithm": ")" << each.algorithm << R"(", "transport": ")"
          << each.transport << R"(", "kind": ")" << to_string(each.kind) << R"(", "scan": ")" << to_string(each.scan)
          << R"(", "direction": ")" << (each.reverse ? "reverse" : "forward") << R"(", "ranks": )" << each.ranks
          << R"(, "bytes": )" << each.bytes << R"(, "blocks": )" << each.blocks << R"(, "time_us": )" << each.time.median
          << R"(, "time_us_min": )" << each.time.minimum << R"(, "time_us_max": )" << each.time.maximum << R"(, "algbw_gbs": )"
          << each.bandwidth() << R"(, "wrong": )" << (each.wrong ? std::to_string(*each.wrong) : "null") << "}";
  }
  file_ << "\n]\n";
  file_.close();
  if (!file_) throw std::runtime_error("cannot write " + name_ + ": is the disk full?");
}

}  // namespace scan_perf
