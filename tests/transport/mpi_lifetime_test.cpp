// Before MPI_Init, between, and after MPI_Finalize. Has the main() of GoogleTest, so that MPI is this test's own.
#include <allscan/transport/mpi.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

namespace {

template <class Function>
std::string refusal(Function&& f) {
  try {
    f();
  } catch (const allscan::invalid_argument& e) {
    return e.what();
  }
  return "accepted";
}

TEST(MpiLifetime, FromBeforeInitToAfterFinalize) {
  using allscan::mpi::communicator;
  using allscan::mpi::communicator_ref;
  const auto construct = [] { const communicator comm{MPI_COMM_WORLD}; };
  const auto borrow = [] { const communicator_ref comm{MPI_COMM_WORLD}; };
  EXPECT_NE(refusal(construct).find("not initialised"), std::string::npos) << refusal(construct);
  EXPECT_NE(refusal(borrow).find("not initialised"), std::string::npos) << refusal(borrow);

  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  auto owned = std::make_unique<communicator>(MPI_COMM_WORLD);
  auto borrowed = std::make_unique<communicator_ref>(MPI_COMM_SELF);
  if (provided < MPI_THREAD_SERIALIZED) {
    std::thread{[&] {
      EXPECT_NE(refusal(construct).find("MPI_THREAD_SERIALIZED"), std::string::npos) << refusal(construct);
      EXPECT_NE(refusal(borrow).find("MPI_THREAD_SERIALIZED"), std::string::npos) << refusal(borrow);
      communicator::request r;
      std::byte data{};
      const auto send = [&] { owned->send(1, owned->rank(), &data, 1, r); };
      const auto receive = [&] { owned->receive(1, owned->rank(), &data, 1, r); };
      EXPECT_NE(refusal(send).find("MPI_THREAD_SERIALIZED"), std::string::npos) << refusal(send);
      EXPECT_NE(refusal(receive).find("MPI_THREAD_SERIALIZED"), std::string::npos) << refusal(receive);
    }}.join();
  } else {
    ADD_FAILURE() << "this MPI gives more than MPI_THREAD_FUNNELED, so that the refusal goes untested";
  }
  MPI_Finalize();

  EXPECT_NE(refusal(construct).find("already finalised"), std::string::npos) << refusal(construct);
  EXPECT_NE(refusal(borrow).find("already finalised"), std::string::npos) << refusal(borrow);
  owned.reset();
  borrowed.reset();
}

}  // namespace
