/// The measurement itself, the same for threads and MPI.
#pragma once

#include "contender.hpp"
#include "options.hpp"
#include "team.hpp"

#include <allscan/core/shape.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace scan_perf {

using contender_list = std::vector<std::unique_ptr<contender>>;
using contender_factory = std::function<contender_list(const allscan::state_shape&, scan_name)>;

/// Heads of 128 x 128 floats where `bytes` holds at least one, else one smaller head; an even key dimension. May be a little
/// smaller than `bytes`, which is at least 8.
[[nodiscard]] allscan::state_shape shape_of(std::size_t bytes);

/// Every rank calls it. @returns the exit status, the same on every rank.
[[nodiscard]] int run(const options& chosen, team& ranks, const std::string& transport, const contender_factory& baselines,
                      const contender_factory& scans);

/// One line on stderr.
void complain(const std::string& what);
void complain(int rank, const std::exception& fault);

[[nodiscard]] int run_threads(const options& chosen);
[[nodiscard]] int run_mpi(int argc, char** argv, const options& chosen);  // defined where MPI was found

}  // namespace scan_perf
