/// Trains a byte-level language model of two gated linear attention blocks on a text, as one long sequence that is split over
/// the ranks: threads here, processes under mpirun.
///
///   build/release/examples/gla_lm                              four threads
///   mpirun -n 4 build/release/examples/gla_lm --verify         four processes, compared with one
///
/// Expected: the loss falls from about 6 nats a byte to less than the entropy of a byte given the one before (2.42 for the
/// default text), which a model that remembers one byte cannot beat.
#include "options.hpp"
#include "outputs.hpp"
#include "text.hpp"
#include "train.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lm {
namespace {

constexpr int failure = 1;

int fail(std::string_view why) {
  std::cerr << "gla_lm: " << why << '\n';
  return failure;
}

/// The exit status.
int status(bool verified) {
  return verified ? 0 : fail("--verify: the run differs from the one on one rank by more than rounding explains");
}

int main_on_threads(std::span<const char* const> arguments) {
  try {
    const options o = parse_options(arguments);
    if (o.help) {
      std::cout << usage;
      return 0;
    }
    const int ranks = o.ranks.value_or(4);
    const std::vector<std::uint8_t> text = read_text(o.text);
    check(o, text, ranks);
    outputs out{o};
    return status(o.in_double ? train_on_threads<double>(ranks, o, text, out) : train_on_threads<float>(ranks, o, text, out));
  } catch (const std::exception& e) {
    return fail(e.what());
  }
}

/// How many processes mpirun started, as Open MPI, MPICH and their kin tell them; nothing outside of mpirun.
std::optional<int> mpi_processes() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread is started
    if (value != nullptr) return std::atoi(value);
  }
  return {};
}

#ifdef LM_WITH_MPI

/// Does on every rank what may fail on one of them. @returns false everywhere if it did; the first such rank says why.
template <class Action>
bool all_succeed(const mpi_ranks& ranks, Action action) {
  std::string why;
  try {
    action();
  } catch (const std::exception& e) {
    why = e.what();
  }
  const std::vector<double> failed = gather(ranks, why.empty() ? 0 : 1);
  const auto first = std::ranges::find(failed, 1.0);
  if (first - failed.begin() == ranks.rank()) fail(why);
  return first == failed.end();
}

/// Distinguishes texts well enough to tell that two ranks were given different ones.
double checksum(bytes text) {
  return std::accumulate(text.begin(), text.end(), 0.0,
                         [](double sum, std::uint8_t b) { return std::fmod(sum * 257 + b, 1e9 + 7); });
}

int main_on_processes(const mpi_session& mpi, std::span<const char* const> arguments) {
  try {
    const mpi_ranks ranks;
    options o;
    std::vector<std::uint8_t> text;
    std::optional<outputs> out;
    const bool ready = all_succeed(ranks, [&] {
      o = parse_options(arguments);
      if (o.help) return;
      if (o.ranks.value_or(ranks.size()) != ranks.size()) {
        throw std::runtime_error("--ranks is not the number of processes that mpirun started: leave it out");
      }
      text = read_text(o.text);
      check(o, text, ranks.size());
      if (ranks.rank() == 0) out.emplace(o);
    });
    if (!ready) return failure;
    if (o.help) {
      if (ranks.rank() == 0) std::cout << usage;
      return 0;
    }
    const std::vector<double> sums = gather(ranks, checksum(text));
    const auto other = std::ranges::find_if(sums, [&](double sum) { return sum != sums[0]; });
    if (other != sums.end()) {
      return ranks.rank() == 0 ? fail("rank " + std::to_string(other - sums.begin()) + " reads another text than rank 0")
                               : failure;
    }
    share_processors(mpi.neighbours());
    return status(o.in_double ? train_on_processes<double>(ranks, o, text, out)
                              : train_on_processes<float>(ranks, o, text, out));
  } catch (const std::exception& e) {
    fail("rank " + std::to_string(mpi.rank()) + ": " + e.what());
    mpi_session::abort();
  }
}

#endif

}  // namespace
}  // namespace lm

int main(int argc, char** argv) {
  const std::span<const char* const> arguments{argv + std::min(argc, 1), argv + argc};
  const int processes = lm::mpi_processes().value_or(1);
#ifdef LM_WITH_MPI
  if (processes > 1) {
    const lm::mpi_session mpi;
    return lm::main_on_processes(mpi, arguments);
  }
#else
  if (processes > 1) return lm::fail("this build has no MPI: run it without mpirun, its ranks are then threads");
#endif
  return lm::main_on_threads(arguments);
}
