#include "run.hpp"

#include "measure.hpp"
#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <new>
#include <stdexcept>

namespace scan_perf {
namespace {

std::uint64_t count_wrong(team& ranks, contender& each) {
  each.prepare();
  ranks.barrier();
  each.run();
  return ranks.sum(each.wrong());
}

/// All contenders of one size and scan, ours first. @param titles  set to the baselines' names.
std::vector<row> measure_rows(const options& chosen, team& ranks, const std::string& transport,
                              const allscan::state_shape& shape, scan_name scan, const contender_list& contenders,
                              std::vector<std::string>& titles) {
  const auto times = measure(ranks, contenders, chosen.warmup, chosen.iterations);
  titles.clear();
  std::vector<std::size_t> baselines;
  for (std::size_t c = 0; c < contenders.size(); ++c) {
    if (!contenders[c]->baseline()) continue;
    baselines.push_back(c);
    titles.push_back(contenders[c]->algorithm());
  }
  std::vector<row> rows;
  for (std::size_t c = 0; c < contenders.size(); ++c) {
    row next{.algorithm = contenders[c]->algorithm(),
             .transport = transport,
             .kind = chosen.kind,
             .scan = scan,
             .reverse = chosen.reverse,
             .ranks = ranks.size(),
             .bytes = shape.elements() * sizeof(float),
             .blocks = contenders[c]->blocks(),
             .time = summarize(times[c])};
    for (const std::size_t b : baselines) next.ratios.push_back(paired_ratio(times[c], times[b]));
    if (chosen.check) next.wrong = count_wrong(ranks, *contenders[c]);
    rows.push_back(std::move(next));
  }
  return rows;
}

}  // namespace

allscan::state_shape shape_of(std::size_t bytes) {
  constexpr std::size_t dim = 128;
  const std::size_t elements = bytes / sizeof(float);
  if (elements >= dim * dim) return {.heads = elements / (dim * dim), .key_dim = dim, .value_dim = dim};
  const std::size_t value_dim = std::min(dim, elements / 2);
  return {.key_dim = elements / value_dim / 2 * 2, .value_dim = value_dim};
}

int run(const options& chosen, team& ranks, const std::string& transport, const contender_factory& baselines,
        const contender_factory& scans) {
  std::unique_ptr<json_file> json;
  std::uint64_t unusable = 0;
  if (ranks.root() && !chosen.json.empty()) {
    try {
      json = std::make_unique<json_file>(chosen.json);
    } catch (const std::runtime_error& fault) {
      complain(fault.what());
      unusable = 1;
    }
  }
  if (ranks.sum(unusable) != 0) return 1;

  std::vector<row> all;
  std::vector<std::string> titles;
  std::uint64_t wrong = 0;
  for (const std::size_t bytes : sizes(chosen)) {
    for (const scan_name scan : chosen.scans) {
      const allscan::state_shape shape = shape_of(bytes);
      contender_list contenders = scans(shape, scan);
      contender_list others = baselines(shape, scan);
      std::move(others.begin(), others.end(), std::back_inserter(contenders));
      contenders.push_back(std::make_unique<memcpy_contender>(shape.elements()));
      if (ranks.root()) {
        std::fprintf(stderr, "scan_perf: %zu bytes, %s: %zu contenders, %zu iterations each\n", bytes,
                     std::string{to_string(scan)}.c_str(), contenders.size(), chosen.warmup + chosen.iterations);
      }
      std::vector<row> rows = measure_rows(chosen, ranks, transport, shape, scan, contenders, titles);
      if (ranks.root()) {
        if (all.empty()) print_header(chosen, transport, ranks.size(), titles);
        for (const auto& each : rows) print_row(each);
      }
      for (const auto& each : rows) wrong += each.wrong.value_or(0);
      std::move(rows.begin(), rows.end(), std::back_inserter(all));
    }
  }
  if (ranks.root()) {
    print_summary(all, titles);
    if (wrong != 0) complain(std::to_string(wrong) + " elements are wrong");
  }
  if (json) {
    try {
      json->write(all);
    } catch (const std::runtime_error& fault) {
      complain(fault.what());
      unusable = 1;
    }
  }
  return ranks.sum(unusable) != 0 || wrong != 0 ? 1 : 0;
}

void complain(const std::string& what) { std::fprintf(stderr, "scan_perf: %s\n", what.c_str()); }

void complain(int rank, const std::exception& fault) {
  const bool memory = dynamic_cast<const std::bad_alloc*>(&fault) != nullptr;
  complain("rank " + std::to_string(rank) + ": " + (memory ? "out of memory: pass a smaller --end" : fault.what()));
}

}  // namespace scan_perf
