/// MPI's own collectives on the same summaries.
#pragma once

#include "contender.hpp"
#include "options.hpp"
#include "rows.hpp"

#include <mpi.h>

#include <memory>
#include <vector>

namespace scan_perf {

/// mpi_exscan or mpi_scan, mpi_allgather, mpi_allgather_fold, mpi_allreduce. The summaries are exact_summary, already packed
/// as rows [transition | state], since MPI takes them in one buffer: packing is not timed. All MPI calls are blocking.
/// Collective over `positions`, which must outlive the result.
/// @param positions  ranks in the scan's direction.
[[nodiscard]] std::vector<std::unique_ptr<contender>> mpi_baselines(MPI_Comm positions, const row_layout& layout,
                                                                    scan_name scan);

}  // namespace scan_perf
