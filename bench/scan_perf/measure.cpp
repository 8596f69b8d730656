#include "measure.hpp"

#include "random.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

namespace scan_perf {
namespace {

double median(samples values) {
  const std::size_t middle = values.size() / 2;
  std::sort(values.begin(), values.end());
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void shuffle(std::vector<std::size_t>& order, random_numbers& random) {
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.integer(0, static_cast<int>(i) - 1))]);
  }
}

}  // namespace

std::vector<samples> measure(team& ranks, const std::vector<std::unique_ptr<contender>>& contenders, std::size_t warmup,
                             std::size_t iterations) {
  using clock = std::chrono::steady_clock;
  std::vector<samples> times(contenders.size(), samples(iterations));
  std::vector<std::size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random_numbers random{0};
  for (std::size_t i = 0; i < warmup + iterations; ++i) {
    shuffle(order, random);
    for (const std::size_t c : order) {
      contenders[c]->prepare();
      ranks.barrier();
      const auto start = clock::now();
      contenders[c]->run();
      const std::chrono::duration<double, std::micro> elapsed = clock::now() - start;
      if (i >= warmup) times[c][i - warmup] = elapsed.count();
    }
  }
  for (auto& each : times) ranks.maximum(each);
  return times;
}

statistics summarize(const samples& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {.median = median(values), .minimum = *least, .maximum = *most};
}

double paired_ratio(const samples& ours, const samples& baseline) {
  samples ratios(ours.size());
  for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = ours[i] / std::max(baseline[i], 1e-3);  // a clock tick at least
  return median(std::move(ratios));
}

}  // namespace scan_perf
