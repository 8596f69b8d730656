/// The program once its arguments are known to be good: on threads, or on the processes of mpirun. float.cpp and double.cpp
/// hold one precision each, so that they compile at the same time.
#pragma once

#include "options.hpp"
#include "outputs.hpp"
#include "ranks.hpp"
#include "run.hpp"
#include "text.hpp"

#ifdef LM_WITH_MPI
#include "mpi_ranks.hpp"
#endif
#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <exception>
#include <iostream>
#include <optional>
#include <utility>

namespace lm {

/// Gives the calling thread its share of the processors that this process may use.
inline void share_processors([[maybe_unused]] int sharers) {
#ifdef _OPENMP
  omp_set_num_threads(std::max(1, omp_get_max_threads() / sharers));
#endif
}

/// Compares with one rank where asked to, and writes everything out. Not collective. @returns whether no comparison failed.
template <class T>
[[nodiscard]] bool conclude(const outcome<T>& run, const options& o, bytes text, outputs& out) {
  results r = run.found;
  if (o.verify) {
    std::cerr << "repeating the first " << std::min(verified_steps, o.steps) << " steps on one rank\n";
    r.verification = verify(run, o, text);
  }
  out.write(o, r);
  return !r.verification || r.verification->passes();
}

/// @returns as conclude().
template <class T>
[[nodiscard]] bool train_on_threads(int ranks, const options& o, bytes text, outputs& out) {
  outcome<T> first;
  thread_team team{ranks};
  allscan::thread::run(ranks, [&](const allscan::thread::communicator& comm) {
    try {
      share_processors(ranks);
      outcome<T> mine = run<T>(thread_ranks{team, comm}, o, text);
      if (comm.rank() == 0) first = std::move(mine);
    } catch (...) {
      team.leave(std::current_exception());
      throw;
    }
  });
  return conclude(first, o, text, out);
}
extern template bool train_on_threads<float>(int, const options&, bytes, outputs&);
extern template bool train_on_threads<double>(int, const options&, bytes, outputs&);

#ifdef LM_WITH_MPI
/// Collective. @param out  of rank 0. @returns on rank 0 as conclude(), on the others true.
template <class T>
[[nodiscard]] bool train_on_processes(const mpi_ranks& ranks, const options& o, bytes text, std::optional<outputs>& out) {
  const outcome<T> mine = run<T>(ranks, o, text);
  return ranks.rank() != 0 || conclude(mine, o, text, *out);
}
extern template bool train_on_processes<float>(const mpi_ranks&, const options&, bytes, std::optional<outputs>&);
extern template bool train_on_processes<double>(const mpi_ranks&, const options&, bytes, std::optional<outputs>&);
#endif

}  // namespace lm
