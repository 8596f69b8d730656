// A scan allocates nothing after its plan's construction, outside the MPI calls it makes.
#include <allscan/transport/mpi.hpp>
#include <support/allocation_cases.hpp>

// The profiling interface tells our allocations from MPI's.
extern "C" {
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  const allocations::pause inside;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  const allocations::pause inside;
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}
int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  const allocations::pause inside;
  return PMPI_Test(request, done, status);
}
int MPI_Get_count(const MPI_Status* status, MPI_Datatype type, int* count) {
  const allocations::pause inside;
  return PMPI_Get_count(status, type, count);
}
int MPI_Get_elements_x(const MPI_Status* status, MPI_Datatype type, MPI_Count* count) {
  const allocations::pause inside;
  return PMPI_Get_elements_x(status, type, count);
}
}

namespace {

TEST(AllocationMpi, NoneInScansOutsideMpiCalls) {
  if (!allocations::counted) GTEST_SKIP() << "a sanitizer owns the allocator";
  allocations::expect_counter_works();
  allocations::every_kind(allscan::mpi::communicator{MPI_COMM_WORLD});
}

}  // namespace
