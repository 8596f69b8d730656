/// One gated linear attention layer, forward and backward, on one long sequence that is split over four ranks.
///
/// Each rank holds a quarter of the tokens and passes only its own tensors. What crosses between ranks is one state a boundary
/// and direction: `gla_operator` starts the scan and computes meanwhile what needs no carry. The same layer then runs on one
/// rank, and the program compares the two.
///
/// Run:        build/release/examples/gla
/// Expected:   rank 1 sent 65536 bytes; all-gathers of the summaries would have sent 199680
///             o            2.3e-07  ok        the relative difference to one rank; likewise final_state and each gradient
/// Exit code:  0 if all are small.
///
/// Ranks are threads here. Under MPI a rank is a process: put `allscan::mpi::communicator comm{MPI_COMM_WORLD}` from
/// <allscan/transport/mpi.hpp> where run_layer() gets its communicator, and slice the data by comm.rank().
#include <allscan/allscan.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>
#include <span>
#include <vector>

namespace {

constexpr int ranks = 4;
constexpr std::size_t tokens = 2000;  // of the whole sequence
constexpr std::size_t heads = 4, key_dim = 32, value_dim = 64;
constexpr std::size_t keys = heads * key_dim, values = heads * value_dim;  // numbers a token has in q, k, g and in v, o

/// Tensors of the whole sequence, [1, tokens, heads, dim]: with a batch of 1, a rank's tokens are one contiguous piece.
struct layer {
  std::vector<float> q, k, v, log_decay, d_o;
  std::vector<float> o, dq, dk, dv, dlog_decay, final_state;
};

layer random_layer() {
  std::mt19937 generator{42};
  std::normal_distribution<float> normal;
  const auto fill = [&](std::size_t width) {
    std::vector<float> x(tokens * width);
    for (float& each : x) each = normal(generator);
    return x;
  };
  layer l{fill(keys), fill(keys), fill(values), fill(keys), fill(values), {}, {}, {}, {}, {}, {}};
  for (float& g : l.log_decay) g = -0.05F * std::log1p(std::exp(-g));  // logsigmoid(x) / 20
  l.o = l.dv = std::vector<float>(tokens * values);
  l.dq = l.dk = l.dlog_decay = std::vector<float>(tokens * keys);
  l.final_state.resize(keys * value_dim);
  return l;
}

/// What each rank does.
template <class Communicator>
void run_layer(Communicator comm, layer& l) {
  const auto part = allscan::even_part(tokens, static_cast<std::size_t>(comm.size()), static_cast<std::size_t>(comm.rank()));
  const auto mine = [&](std::vector<float>& x) {
    const std::size_t width = x.size() / tokens;
    return std::span<float>{x}.subspan(part.begin * width, part.size() * width);
  };
  std::vector<float> carry(keys * value_dim);  // the state before this rank's first token, kept for the backward pass
  const bool last = comm.rank() + 1 == comm.size();

  const allscan::token_shape shape{.tokens = part.size(), .heads = heads, .key_dim = key_dim, .value_dim = value_dim};
  allscan::gla_operator op{comm, shape, {.chunk = 64}};
  op.forward({.q = mine(l.q), .k = mine(l.k), .v = mine(l.v), .log_decay = mine(l.log_decay)},
             {.o = mine(l.o), .final_state = last ? l.final_state.data() : nullptr, .carry = carry});
  op.backward(
      {.q = mine(l.q), .k = mine(l.k), .v = mine(l.v), .log_decay = mine(l.log_decay), .carry = carry, .d_o = mine(l.d_o)},
      {.dq = mine(l.dq), .dk = mine(l.dk), .dv = mine(l.dv), .dlog_decay = mine(l.dlog_decay)});

  if (comm.rank() == 1) {
    std::printf("rank 1 sent %llu bytes; all-gathers of the summaries would have sent %llu\n",
                static_cast<unsigned long long>(op.statistics().bytes_sent),
                static_cast<unsigned long long>(op.allgather_bytes()));
  }
}

/// Prints rms(a - b) / rms(a). @returns true if it is small.
bool close(const char* name, const std::vector<float>& a, const std::vector<float>& b, double limit) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    norm += std::pow(static_cast<double>(a[i]), 2);
  }
  const double error = std::sqrt(difference / norm);
  const bool ok = error <= limit;  // false for NaN, too
  std::printf("%-12s %.1e  %s\n", name, error, ok ? "ok" : "OFF");
  return ok;
}

}  // namespace

int main() {
  layer whole = random_layer();
  layer split = whole;
  allscan::thread::run(1, [&](allscan::thread::communicator comm) { run_layer(comm, whole); });
  allscan::thread::run(ranks, [&](allscan::thread::communicator comm) { run_layer(comm, split); });

  bool ok = close("o", whole.o, split.o, 1e-5);
  ok = close("final_state", whole.final_state, split.final_state, 1e-5) && ok;
  ok = close("dq", whole.dq, split.dq, 1e-4) && ok;
  ok = close("dk", whole.dk, split.dk, 1e-4) && ok;
  ok = close("dv", whole.dv, split.dv, 1e-4) && ok;
  ok = close("dlog_decay", whole.dlog_decay, split.dlog_decay, 1e-4) && ok;
  return ok ? 0 : 1;
}
