#include "mpi_baselines.hpp"

#include <algorithm>

namespace scan_perf {
namespace {

/// An MPI operator gets no context: the rows that are being combined now.
row_layout combined_rows;

/// Lower rank first: `lower` is MPI's invec, `upper` its inoutvec.
void combine(void* lower, void* upper, int* count, MPI_Datatype*) {  // NOLINT(readability-non-const-parameter): MPI's type
  const std::size_t stride = combined_rows.transition + combined_rows.state;
  for (std::size_t row = 0; row < static_cast<std::size_t>(*count); ++row) {
    compose(combined_rows, static_cast<const float*>(lower) + row * stride, static_cast<float*>(upper) + row * stride);
  }
}

/// The operands of all baselines of one size.
struct operands {
  operands(MPI_Comm comm, const row_layout& rows) : positions{comm}, layout{rows}, stride{rows.transition + rows.state} {
    MPI_Comm_rank(comm, &position);
    MPI_Comm_size(comm, &count);
    own = packed(position);
    state = exact_summary<float>(layout, position).state;
    result.resize(std::max(state.size(), own.size()));
    gathered.resize(own.size() * static_cast<std::size_t>(count));
    MPI_Type_contiguous(static_cast<int>(stride), MPI_FLOAT, &row_type);
    MPI_Type_commit(&row_type);
    MPI_Op_create(combine, /*commute=*/0, &op);
  }
  operands(const operands&) = delete;
  operands& operator=(const operands&) = delete;
  ~operands() {
    MPI_Op_free(&op);
    MPI_Type_free(&row_type);
  }

  [[nodiscard]] buffer<float> packed(int at) const {
    const summary<float> s = exact_summary<float>(layout, at);
    buffer<float> rows(layout.rows * stride);
    for (std::size_t row = 0; row < layout.rows; ++row) {
      float* to = rows.data() + row * stride;
      std::copy_n(s.transition.data() + row * layout.transition, layout.transition, to);
      std::copy_n(s.state.data() + row * layout.state, layout.state, to + layout.transition);
    }
    return rows;
  }
  [[nodiscard]] int rows() const { return static_cast<int>(layout.rows); }
  void clear_result() { std::fill(result.begin(), result.end(), -99.0F); }

  MPI_Comm positions;
  row_layout layout;
  int position = 0;
  int count = 1;
  std::size_t stride;      // numbers of one packed row
  buffer<float> own;       // packed rows
  buffer<float> state;     // the states of `own` alone
  buffer<float> result;    // packed rows of a scan, or a state
  buffer<float> gathered;  // packed rows of every position
  MPI_Datatype row_type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
};

class mpi_scan final : public contender {
 public:
  mpi_scan(std::shared_ptr<operands> shared, scan_name scan) : shared_{std::move(shared)}, scan_{scan} {}

  [[nodiscard]] std::string algorithm() const override { return scan_ == scan_name::exclusive ? "mpi_exscan" : "mpi_scan"; }
  void prepare() override {
    combined_rows = shared_->layout;
    shared_->clear_result();
    touch(shared_->own);
  }
  void run() override {
    const auto& call = scan_ == scan_name::exclusive ? MPI_Exscan : MPI_Scan;
    call(shared_->own.data(), shared_->result.data(), shared_->rows(), shared_->row_type, shared_->op, shared_->positions);
  }
  [[nodiscard]] std::uint64_t wrong() override {
    const int folded = shared_->position + (scan_ == scan_name::exclusive ? 0 : 1);
    if (folded == 0) return 0;  // MPI_Exscan leaves the first rank's result undefined
    const buffer<float> expected = exact_prefix<float>(shared_->layout, folded);
    const row_layout& layout = shared_->layout;
    std::uint64_t wrong = 0;
    for (std::size_t row = 0; row < layout.rows; ++row) {
      const float* state = shared_->result.data() + row * shared_->stride + layout.transition;
      wrong += count_different(state, expected.data() + row * layout.state, layout.state);
    }
    return wrong;
  }

 private:
  std::shared_ptr<operands> shared_;
  scan_name scan_;
};

class mpi_allgather final : public contender {
 public:
  explicit mpi_allgather(std::shared_ptr<operands> shared) : shared_{std::move(shared)} {}

  [[nodiscard]] std::string algorithm() const override { return "mpi_allgather"; }
  void prepare() override {
    for (std::size_t i = 0; i < shared_->gathered.size(); i += shared_->own.size()) shared_->gathered[i] = -99.0F;
    touch(shared_->own);
  }
  void run() override {
    MPI_Allgather(shared_->own.data(), shared_->rows(), shared_->row_type, shared_->gathered.data(), shared_->rows(),
                  shared_->row_type, shared_->positions);
  }
  [[nodiscard]] std::uint64_t wrong() override {
    std::uint64_t wrong = 0;
    for (int position = 0; position < shared_->count; ++position) {
      const buffer<float> expected = shared_->packed(position);
      const float* rows = shared_->gathered.data() + static_cast<std::size_t>(position) * expected.size();
      wrong += count_different(rows, expected.data(), expected.size());
    }
    return wrong;
  }

 private:
  std::shared_ptr<operands> shared_;
};

/// Gathers every summary, then folds those of the lower positions row by row, so that a row's state stays in the cache.
class mpi_allgather_fold final : public contender {
 public:
  mpi_allgather_fold(std::shared_ptr<operands> shared, scan_name scan)
      : shared_{std::move(shared)}, folded_{shared_->position + (scan == scan_name::exclusive ? 0 : 1)} {}

  [[nodiscard]] std::string algorithm() const override { return "mpi_allgather_fold"; }
  void prepare() override {
    shared_->clear_result();
    touch(shared_->own);
  }
  void run() override {
    MPI_Allgather(shared_->own.data(), shared_->rows(), shared_->row_type, shared_->gathered.data(), shared_->rows(),
                  shared_->row_type, shared_->positions);
    const row_layout& layout = shared_->layout;
    for (std::size_t row = 0; folded_ > 0 && row < layout.rows; ++row) {
      const float* summary = shared_->gathered.data() + row * shared_->stride;
      float* state = shared_->result.data() + row * layout.state;
      std::copy_n(summary + layout.transition, layout.state, state);
      for (int position = 1; position < folded_; ++position) {
        summary += shared_->own.size();
        advance(layout, summary, summary + layout.transition, state);
      }
    }
  }
  [[nodiscard]] std::uint64_t wrong() override {
    if (folded_ == 0) return 0;
    const buffer<float> expected = exact_prefix<float>(shared_->layout, folded_);
    return count_different(shared_->result.data(), expected.data(), expected.size());
  }

 private:
  std::shared_ptr<operands> shared_;
  int folded_;  // summaries in this position's result
};

/// A sum of as many bytes as a state has: no scan, but the collective every cluster is tuned for.
class mpi_allreduce final : public contender {
 public:
  explicit mpi_allreduce(std::shared_ptr<operands> shared) : shared_{std::move(shared)} {}

  [[nodiscard]] std::string algorithm() const override { return "mpi_allreduce"; }
  void prepare() override {
    shared_->clear_result();
    touch(shared_->state);
  }
  void run() override {
    MPI_Allreduce(shared_->state.data(), shared_->result.data(), static_cast<int>(shared_->state.size()), MPI_FLOAT, MPI_SUM,
                  shared_->positions);
  }
  [[nodiscard]] std::uint64_t wrong() override {
    buffer<float> expected(shared_->state.size());
    for (int position = 0; position < shared_->count; ++position) {
      const buffer<float> state = exact_summary<float>(shared_->layout, position).state;
      for (std::size_t i = 0; i < state.size(); ++i) expected[i] += state[i];
    }
    return count_different(shared_->result.data(), expected.data(), expected.size());
  }

 private:
  std::shared_ptr<operands> shared_;
};

}  // namespace

std::vector<std::unique_ptr<contender>> mpi_baselines(MPI_Comm positions, const row_layout& layout, scan_name scan) {
  const auto shared = std::make_shared<operands>(positions, layout);
  std::vector<std::unique_ptr<contender>> all;
  all.push_back(std::make_unique<mpi_scan>(shared, scan));
  all.push_back(std::make_unique<mpi_allgather>(shared));
  all.push_back(std::make_unique<mpi_allgather_fold>(shared, scan));
  all.push_back(std::make_unique<mpi_allreduce>(shared));
  return all;
}

}  // namespace scan_perf
