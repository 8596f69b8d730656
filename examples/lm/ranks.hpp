/// Ranks as threads, and what training needs of ranks beside the scan: sums over all of them.
///
/// Every kind of ranks has rank(), size(), communicator() and sum(values), which replaces `values` by their sum over the ranks,
/// the same to the bit on every rank and in every run.
#pragma once

#include <allscan/core/shape.hpp>
#include <allscan/transport/thread.hpp>

#include <barrier>
#include <cstddef>
#include <exception>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace lm {

/// What the threads of a team share.
class thread_team {
 public:
  explicit thread_team(int size) : barrier_{size}, data_(static_cast<std::size_t>(size)) {}

  /// Each rank adds up one slice, in rank order, for all of them.
  template <class T>
  void sum(int rank, std::span<T> values) {
    const auto self = static_cast<std::size_t>(rank);
    data_[self] = values.data();
    wait();
    const allscan::unit_range slice = allscan::even_part(values.size(), data_.size(), self);
    for (std::size_t i = slice.begin; i < slice.end; ++i) {
      T total{};
      for (const void* each : data_) total += static_cast<const T*>(each)[i];
      for (void* each : data_) static_cast<T*>(each)[i] = total;
    }
    wait();
  }

  /// For a rank that fails: the others' next sum throws its exception instead of waiting for it.
  void leave(std::exception_ptr failure) {
    {
      const std::lock_guard lock{mutex_};
      if (!failure_) failure_ = std::move(failure);
    }
    barrier_.arrive_and_drop();
  }

 private:
  void wait() {
    barrier_.arrive_and_wait();
    const std::lock_guard lock{mutex_};
    if (failure_) std::rethrow_exception(failure_);
  }

  std::barrier<> barrier_;
  std::vector<void*> data_;  // every rank's values
  std::mutex mutex_;
  std::exception_ptr failure_;
};

class thread_ranks {
 public:
  thread_ranks(thread_team& team, allscan::thread::communicator comm) : team_{team}, comm_{std::move(comm)} {}

  [[nodiscard]] int rank() const { return comm_.rank(); }
  [[nodiscard]] int size() const { return comm_.size(); }
  [[nodiscard]] const allscan::thread::communicator& communicator() const { return comm_; }

  template <class T>
  void sum(std::span<T> values) const {
    team_.sum(rank(), values);
  }

 private:
  thread_team& team_;
  allscan::thread::communicator comm_;
};

/// A rank on its own.
class lone_rank {
 public:
  [[nodiscard]] int rank() const { return 0; }
  [[nodiscard]] int size() const { return 1; }
  [[nodiscard]] allscan::thread::communicator communicator() const { return allscan::thread::group{1}.communicator(0); }

  template <class T>
  void sum(std::span<T>) const {}
};

/// Every rank's value, in rank order, on every rank.
template <class Ranks>
[[nodiscard]] std::vector<double> gather(const Ranks& ranks, double value) {
  std::vector<double> values(static_cast<std::size_t>(ranks.size()));
  values[static_cast<std::size_t>(ranks.rank())] = value;
  ranks.sum(std::span{values});
  return values;
}

}  // namespace lm
