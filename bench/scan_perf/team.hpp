/// The ranks of one run, as the harness needs them: a barrier and two reductions, whatever carries them.
#pragma once

#include <cstdint>
#include <span>

namespace scan_perf {

/// Every rank calls each member function; `rank` and `size` as in MPI.
class team {
 public:
  team() = default;
  team(const team&) = delete;
  team& operator=(const team&) = delete;
  virtual ~team() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  virtual void barrier() = 0;
  /// Replaces each value by its maximum over the ranks.
  virtual void maximum(std::span<double> values) = 0;
  [[nodiscard]] virtual std::uint64_t sum(std::uint64_t value) = 0;

  [[nodiscard]] bool root() const { return rank() == 0; }
};

}  // namespace scan_perf
