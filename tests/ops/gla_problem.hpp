/// A whole GLA sequence, cut over ranks: what every test of the operators runs and compares.
#pragma once

#include <allscan/kernel/reference/gla.hpp>
#include <allscan/ops/gla_operator.hpp>
#include <allscan/ops/simple_gla_operator.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace allscan::test {

template <class Gate>
inline constexpr bool diagonal_gate = std::is_same_v<Gate, kind::diagonal>;

template <class Gate, class T, class Communicator>
using operator_of =
    std::conditional_t<diagonal_gate<Gate>, gla_operator<T, Communicator>, simple_gla_operator<T, Communicator>>;

template <class Gate>
std::size_t gate_width(const token_shape& s) {
  return s.heads * (diagonal_gate<Gate> ? s.key_dim : 1);
}

/// The whole sequence on no rank in particular. Empty initial_state or d_final_state: none given.
template <class T>
struct gla_problem {
  token_shape shape;
  double scale = 1;
  std::vector<T> q, k, v, log_decay, initial_state, d_o, d_final_state;
};

/// What one rank (or one device, for the whole) computes.
template <class T>
struct gla_result {
  std::vector<T> o, final_state, carry, dq, dk, dv, dlog_decay, d_initial_state;
};

template <class To, class From>
std::vector<To> converted(const std::vector<From>& from) {
  return std::vector<To>(from.begin(), from.end());
}

template <class To, class From>
gla_problem<To> converted(const gla_problem<From>& p) {
  return {p.shape,
          p.scale,
          converted<To>(p.q),
          converted<To>(p.k),
          converted<To>(p.v),
          converted<To>(p.log_decay),
          converted<To>(p.initial_state),
          converted<To>(p.d_o),
          converted<To>(p.d_final_state)};
}

/// Tokens [part.begin, part.end) of a [batch, tokens, width] tensor.
template <class T>
std::vector<T> tokens_of(const std::vector<T>& whole, const token_shape& s, std::size_t width, unit_range part) {
  std::vector<T> out;
  for (std::size_t b = 0; b < s.batch; ++b) {
    const auto from = whole.begin() + static_cast<std::ptrdiff_t>(b * s.tokens * width);
    out.insert(out.end(), from + static_cast<std::ptrdiff_t>(part.begin * width),
               from + static_cast<std::ptrdiff_t>(part.end * width));
  }
  return out;
}

/// Rank `rank`'s tokens where `bounds` are the size + 1 boundaries of all ranks.
using boundaries = std::vector<std::size_t>;
inline unit_range part_of(const boundaries& bounds, int rank) {
  const auto r = static_cast<std::size_t>(rank);
  return {bounds[r], bounds[r + 1]};
}

inline boundaries even_boundaries(std::size_t tokens, int ranks) {
  boundaries bounds{0};
  for (int r = 0; r < ranks; ++r) {
    bounds.push_back(even_part(tokens, static_cast<std::size_t>(ranks), static_cast<std::size_t>(r)).end);
  }
  return bounds;
}

/// Normal q, k, v and gradients; log decays drawn by `gate(generator)`.
template <class Gate, class Draw>
gla_problem<double> random_problem(const token_shape& s, Draw gate, bool with_states, unsigned seed = 1) {
  std::mt19937 generator{seed};
  std::normal_distribution<double> normal;
  const auto fill = [&](std::size_t n) {
    std::vector<double> out(n);
    for (double& x : out) x = normal(generator);
    return out;
  };
  gla_problem<double> p{s, 0.3, fill(s.key_elements()), fill(s.key_elements()), fill(s.value_elements()), {}, {}, {}, {}};
  p.log_decay.resize(s.batch * s.tokens * gate_width<Gate>(s));
  for (double& g : p.log_decay) g = gate(generator);
  p.d_o = fill(s.value_elements());
  if (with_states) {
    p.initial_state = fill(s.state().elements());
    p.d_final_state = fill(s.state().elements());
  }
  return p;
}

inline double mild_gate(std::mt19937& g) { return -std::uniform_real_distribution<double>{0, 0.3}(g); }
/// Exactly 0, barely below it, mild, strong and total: all that a gate in [-1000, 0] can be.
inline double wild_gate(std::mt19937& g) {
  constexpr double choices[] = {0, -1e-9, -0.05, -1, -20, -88, -104, -1000};
  return choices[std::uniform_int_distribution<int>{0, 7}(g)];
}

template <class T>
const T* data_or_null(const std::vector<T>& x) {
  return x.empty() ? nullptr : x.data();
}

/// The token-serial kernel of precision T over the whole sequence: one device.
template <class Gate, class T>
gla_result<T> one_device(const gla_problem<T>& p) {
  const token_shape& s = p.shape;
  const std::size_t states = s.state().elements();
  gla_result<T> r{std::vector<T>(s.value_elements()),
                  std::vector<T>(states),
                  p.initial_state,
                  std::vector<T>(s.key_elements()),
                  std::vector<T>(s.key_elements()),
                  std::vector<T>(s.value_elements()),
                  std::vector<T>(p.log_decay.size()),
                  std::vector<T>(states)};
  const gla_tokens<T> tokens{p.q.data(), p.k.data(), p.v.data(), p.log_decay.data(), static_cast<T>(p.scale)};
  reference::gla_forward<Gate>(s, tokens, data_or_null(p.initial_state), r.o.data(), r.final_state.data());
  reference::gla_backward<Gate>(s, tokens, data_or_null(p.initial_state), p.d_o.data(), data_or_null(p.d_final_state),
                                gla_gradients<T>{r.dq.data(), r.dk.data(), r.dv.data(), r.dlog_decay.data()},
                                r.d_initial_state.data());
  return r;
}

/// One rank's part of a whole result: what run_rank() should give. States are kept on the rank that has them.
template <class Gate, class T>
gla_result<T> part_of(const gla_result<T>& whole, const token_shape& s, const boundaries& bounds, int rank) {
  const unit_range part = part_of(bounds, rank);
  const std::size_t keys = s.heads * s.key_dim;
  const std::size_t values = s.heads * s.value_dim;
  gla_result<T> r;
  r.o = tokens_of(whole.o, s, values, part);
  r.dq = tokens_of(whole.dq, s, keys, part);
  r.dk = tokens_of(whole.dk, s, keys, part);
  r.dv = tokens_of(whole.dv, s, values, part);
  r.dlog_decay = tokens_of(whole.dlog_decay, s, gate_width<Gate>(s), part);
  if (rank == 0) r.d_initial_state = whole.d_initial_state;
  if (static_cast<std::size_t>(rank) + 2 == bounds.size()) r.final_state = whole.final_state;
  return r;
}

/// Forward and backward of one rank's part through the operator, every output poisoned with NaN beforehand.
template <class Gate, class T, class Communicator>
class rank_run {
 public:
  rank_run(Communicator comm, const gla_problem<T>& p, const boundaries& bounds, gla_options options)
      : first_{comm.rank() == 0},
        last_{comm.rank() + 1 == comm.size()},
        shape_{local(p.shape, part_of(bounds, comm.rank()))},
        op_{comm, shape_, with_scale(options, p.scale)} {
    const unit_range part = part_of(bounds, comm.rank());
    const std::size_t keys = p.shape.heads * p.shape.key_dim;
    const std::size_t values = p.shape.heads * p.shape.value_dim;
    q_ = tokens_of(p.q, p.shape, keys, part);
    k_ = tokens_of(p.k, p.shape, keys, part);
    v_ = tokens_of(p.v, p.shape, values, part);
    log_decay_ = tokens_of(p.log_decay, p.shape, gate_width<Gate>(p.shape), part);
    d_o_ = tokens_of(p.d_o, p.shape, values, part);
    if (first_) initial_state_ = p.initial_state;
    if (last_) d_final_state_ = p.d_final_state;
    const auto nan = [](std::size_t n) { return std::vector<T>(n, std::numeric_limits<T>::quiet_NaN()); };
    const std::size_t states = shape_.state().elements();
    result_ = {
        nan(shape_.value_elements()), nan(last_ ? states : 0), nan(states), nan(q_.size()), nan(k_.size()), nan(v_.size()),
        nan(log_decay_.size()),       nan(first_ ? states : 0)};
  }

  void forward() {
    op_.forward({.q = q_, .k = k_, .v = v_, .log_decay = log_decay_, .initial_state = data_or_null(initial_state_)},
                {.o = result_.o, .final_state = writable(result_.final_state), .carry = result_.carry});
  }

  void backward(bool with_carry) {
    op_.backward({.q = q_,
                  .k = k_,
                  .v = v_,
                  .log_decay = log_decay_,
                  .initial_state = data_or_null(initial_state_),
                  .carry = with_carry ? result_.carry.data() : nullptr,
                  .d_o = d_o_,
                  .d_final_state = data_or_null(d_final_state_)},
                 {.dq = result_.dq,
                  .dk = result_.dk,
                  .dv = result_.dv,
                  .dlog_decay = result_.dlog_decay,
                  .d_initial_state = writable(result_.d_initial_state)});
  }

  [[nodiscard]] const gla_result<T>& result() const { return result_; }
  [[nodiscard]] operator_of<Gate, T, Communicator>& op() { return op_; }

 private:
  static token_shape local(token_shape s, unit_range part) {
    s.tokens = part.size();
    return s;
  }
  static gla_options with_scale(gla_options options, double scale) {
    options.scale = scale;
    return options;
  }
  static T* writable(std::vector<T>& x) { return x.empty() ? nullptr : x.data(); }

  bool first_;
  bool last_;
  token_shape shape_;
  operator_of<Gate, T, Communicator> op_;
  std::vector<T> q_, k_, v_, log_decay_, d_o_, initial_state_, d_final_state_;
  gla_result<T> result_;
};

/// rms(expected - got) / rms(expected); the plain rms where all of `expected` is 0.
template <class T, class Expected>
double rms_error(const std::vector<Expected>& expected, const std::vector<T>& got) {
  EXPECT_EQ(expected.size(), got.size());
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < std::min(expected.size(), got.size()); ++i) {
    const double d = static_cast<double>(expected[i]) - static_cast<double>(got[i]);
    difference += d * d;
    norm += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
  }
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

template <class T>
inline constexpr double forward_limit = std::is_same_v<T, double> ? 1e-12 : 1e-5;
template <class T>
inline constexpr double gradient_limit = std::is_same_v<T, double> ? 1e-12 : 1e-4;

/// Every tensor of one rank against its part of the oracle's.
template <class T>
void expect_close(const gla_result<double>& expected, const gla_result<T>& got, const std::string& where) {
  EXPECT_LE(rms_error(expected.o, got.o), forward_limit<T>) << "o, " << where;
  EXPECT_LE(rms_error(expected.final_state, got.final_state), forward_limit<T>) << "final_state, " << where;
  EXPECT_LE(rms_error(expected.dq, got.dq), gradient_limit<T>) << "dq, " << where;
  EXPECT_LE(rms_error(expected.dk, got.dk), gradient_limit<T>) << "dk, " << where;
  EXPECT_LE(rms_error(expected.dv, got.dv), gradient_limit<T>) << "dv, " << where;
  EXPECT_LE(rms_error(expected.dlog_decay, got.dlog_decay), gradient_limit<T>) << "dlog_decay, " << where;
  EXPECT_LE(rms_error(expected.d_initial_state, got.d_initial_state), gradient_limit<T>) << "d_initial_state, " << where;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// To the bit, signs of zero included.
template <class T>
void expect_equal(const gla_result<T>& expected, const gla_result<T>& got, const std::string& where) {
  EXPECT_TRUE(same_bits(expected.o, got.o)) << where;
  EXPECT_TRUE(same_bits(expected.final_state, got.final_state)) << where;
  EXPECT_TRUE(same_bits(expected.dq, got.dq)) << where;
  EXPECT_TRUE(same_bits(expected.dk, got.dk)) << where;
  EXPECT_TRUE(same_bits(expected.dv, got.dv)) << where;
  EXPECT_TRUE(same_bits(expected.dlog_decay, got.dlog_decay)) << where;
  EXPECT_TRUE(same_bits(expected.d_initial_state, got.d_initial_state)) << where;
}

}  // namespace allscan::test
