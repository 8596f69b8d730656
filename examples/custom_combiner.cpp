/// A combiner of one's own in ten lines: peak meters, a decayed running maximum, over a recording that is split over four
/// ranks.
///
/// A meter shows peak_t = max(release * peak_{t-1}, |x_t|), each channel with a release of its own. That is no linear
/// recurrence, but it is an associative one, so All-Scan carries it: a rank summarises its samples, gets the meter as it stood
/// before its first sample, and goes on from there. The program checks the combiner's laws, then every meter against one serial
/// loop.
///
/// Run:        build/release/examples/custom_combiner
/// Expected:   6 laws hold; not checked: 1
///             rank 0: meters start at  -inf, differ from the serial loop by 0
///             rank 1: meters start at 0.883, differ from the serial loop by 0
///             rank 2: meters start at  0.97, differ from the serial loop by 1.4e-05
///             and rank 3 likewise
/// Exit code:  0 if the laws hold and all differences are small.
#include <allscan/allscan.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

namespace {

struct decayed_maximum {
  using scalar = float;                     // a state element: one channel's meter
  using kind = allscan::kind::elementwise;  // each has a transition number of its own: the sum of its log releases
  static float prepare(float log_release) { return std::exp(log_release); }
  static float apply(float release, float carry, float local) { return std::max(release * carry, local); }
  static float compose(float earlier, float later) { return earlier + later; }
  static float identity() { return -std::numeric_limits<float>::infinity(); }  // a meter that has seen nothing
};

constexpr int ranks = 4;
constexpr std::size_t samples = 3001;  // of the whole recording
constexpr std::size_t channels = 64;
constexpr allscan::state_shape shape{.heads = channels};

float log_release(std::size_t channel) { return -1e-5F * static_cast<float>(channel + 1); }

/// Runs the meters over samples [begin, end) from `meter` on, and shows them after every sample.
void run(const std::vector<float>& recording, allscan::unit_range part, std::vector<float>& meter, std::vector<float>& shown) {
  for (std::size_t t = part.begin; t < part.end; ++t) {
    for (std::size_t c = 0; c < channels; ++c) {
      const float release = decayed_maximum::prepare(log_release(c));
      meter[c] = decayed_maximum::apply(release, meter[c], std::abs(recording[t * channels + c]));
      shown[t * channels + c] = meter[c];
    }
  }
}

/// What each rank does.
template <class Communicator>
float meter_on_rank(Communicator comm, const std::vector<float>& recording, std::vector<float>& shown) {
  const auto part = allscan::even_part(samples, static_cast<std::size_t>(comm.size()), static_cast<std::size_t>(comm.rank()));
  std::vector<float> summary(channels, decayed_maximum::identity());
  std::vector<float> releases(channels);
  run(recording, part, summary, shown);
  for (std::size_t c = 0; c < channels; ++c) releases[c] = static_cast<float>(part.size()) * log_release(c);

  std::vector<float> meter(channels);
  allscan::scan_plan plan{comm, decayed_maximum{}, shape};
  plan.exclusive_scan({.state = summary, .transition = releases}, meter);
  const float start = meter[0];
  run(recording, part, meter, shown);
  return start;
}

}  // namespace

int main() {
  const allscan::law_report laws = allscan::test_combiner_laws(decayed_maximum{});
  if (!laws.passed()) return std::printf("broken law: %s\n", laws.failure.c_str()), 1;
  std::printf("%zu laws hold; not checked: %zu\n", laws.checked.size(), laws.skipped.size());

  std::mt19937 generator{1};
  std::normal_distribution<float> normal{0, 0.25F};
  std::vector<float> recording(samples * channels);
  for (float& x : recording) x = normal(generator);

  std::vector<float> serial(recording.size());
  std::vector<float> meter(channels, decayed_maximum::identity());
  run(recording, {0, samples}, meter, serial);

  std::vector<float> shown(recording.size());
  std::vector<float> starts(ranks);
  allscan::thread::run(ranks, [&](allscan::thread::communicator comm) {
    starts[static_cast<std::size_t>(comm.rank())] = meter_on_rank(comm, recording, shown);
  });

  bool good = true;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto part = allscan::even_part(samples, ranks, rank);
    float worst = 0;
    for (std::size_t i = part.begin * channels; i < part.end * channels; ++i)
      worst = std::max(worst, std::abs(shown[i] - serial[i]));
    std::printf("rank %zu: meters start at %5.3g, differ from the serial loop by %.2g\n", rank,
                static_cast<double>(starts[rank]), static_cast<double>(worst));
    good = good && worst < 1e-4F;  // the loop multiplies releases, the scan sums their logs
  }
  return good ? 0 : 1;
}
