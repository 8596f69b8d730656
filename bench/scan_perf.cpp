/// Times the scans of a recurrent state over ranks, against MPI's collectives on the same summaries, in the manner of
/// nccl-tests.
///
///   mpirun -n 8 scan_perf -b 64K -e 16M -B 1,4,16,64          ranks are MPI processes
///   scan_perf -t 8 -b 64K -e 16M                              ranks are threads of one process
///
/// In one run: chain and gather with each block count, MPI_Exscan or MPI_Scan with a user-defined operator, MPI_Allgather bare
/// and with the local fold, MPI_Allreduce, and a memcpy of the state by all ranks at once. #wrong counts wrong elements over
/// all ranks: exact arithmetic modulo 2^32 through a plan of the same form, and the float result against the left-to-right
/// fold, equal to the bit.
#include "scan_perf/options.hpp"
#include "scan_perf/run.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

namespace {

/// The rank that mpirun gave this process, as text; null without mpirun. Known before MPI_Init, and without MPI.
const char* launched_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (const char* rank = std::getenv(name)) return rank;  // NOLINT(concurrency-mt-unsafe): nothing sets it
  }
  return nullptr;
}

int run(int argc, char** argv, bool speaks) {
  using scan_perf::usage_error;
  const scan_perf::options chosen = scan_perf::parse(argc, argv);
  if (chosen.help) {
    if (speaks) std::fputs(scan_perf::help_text().c_str(), stdout);
    return 0;
  }
  if (chosen.threads > 0) {
    if (launched_rank() != nullptr) throw usage_error("--threads is for one process: leave mpirun or -t out");
    return scan_perf::run_threads(chosen);
  }
#ifdef SCAN_PERF_MPI
  return scan_perf::run_mpi(argc, argv, chosen);
#else
  throw usage_error("built without MPI: pass -t N for N ranks as threads");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const char* rank = launched_rank();
  const bool speaks = rank == nullptr || std::string_view{rank} == "0";
  try {
    return run(argc, argv, speaks);
  } catch (const scan_perf::usage_error& fault) {
    if (speaks) scan_perf::complain(fault.what());
    return 2;
  } catch (const std::exception& fault) {
    scan_perf::complain(fault.what());
    return 1;
  }
}
