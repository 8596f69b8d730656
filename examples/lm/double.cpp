#include "train.hpp"

namespace lm {

template bool train_on_threads<double>(int, const options&, bytes, outputs&);
#ifdef LM_WITH_MPI
template bool train_on_processes<double>(const mpi_ranks&, const options&, bytes, std::optional<outputs>&);
#endif

}  // namespace lm
