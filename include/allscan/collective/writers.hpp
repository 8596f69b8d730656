/// Which step of a program writes what another reads.
#pragma once

#include <allscan/collective/program.hpp>

#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

namespace allscan {

/// Cost: building n log n in the steps, a look-up log n.
class writers {
 public:
  explicit writers(const program& p) : program_{&p} {
    for (std::size_t i = 0; i < p.steps.size(); ++i) {
      const step& s = p.steps[i];
      if (s.out >= first_free_buffer) written_[{s.out, s.carries}].emplace(s.units.begin, i);
    }
  }

  /// The step before `reader` that wrote what it reads as (`b`, `carries`): a read lies inside one write.
  /// @returns its index, or -1 where no step wrote it.
  [[nodiscard]] std::ptrdiff_t find(std::size_t reader, buffer b, payload carries) const {
    const auto writes = written_.find({b, carries});
    if (writes == written_.end()) return -1;
    const unit_range read = program_->steps[reader].units;
    auto at = writes->second.upper_bound(carries == payload::transition ? 0 : read.begin);
    if (at == writes->second.begin()) return -1;
    at = std::prev(at);
    const bool inside = carries == payload::transition || read.end <= program_->steps[at->second].units.end;
    return inside && at->second < reader ? static_cast<std::ptrdiff_t>(at->second) : -1;
  }

 private:
  const program* program_;
  std::map<std::pair<buffer, payload>, std::map<std::size_t, std::size_t>> written_;  // first unit -> step
};

}  // namespace allscan
