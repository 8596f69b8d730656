/// Inputs of gated linear attention over one whole sequence, the token-serial and the chunked results, and how far apart they
/// are.
#pragma once

#include "support/golden.hpp"

#include <allscan/kernel/cpu/carry.hpp>
#include <allscan/kernel/cpu/carry_backward.hpp>
#include <allscan/kernel/cpu/intra_chunk.hpp>
#include <allscan/kernel/cpu/intra_chunk_backward.hpp>
#include <allscan/kernel/cpu/summary.hpp>
#include <allscan/kernel/reference/gla.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace allscan::test {

template <class To, class From>
std::vector<To> converted(const std::vector<From>& from) {
  std::vector<To> to(from.size());
  std::transform(from.begin(), from.end(), to.begin(), [](From x) { return static_cast<To>(x); });
  return to;
}

template <class T>
struct gla_problem {
  token_shape shape;
  T scale = 1;
  std::vector<T> q, k, v, log_decay, initial, d_o, d_final;

  [[nodiscard]] gla_tokens<T> tokens() const {
    return {.q = q.data(), .k = k.data(), .v = v.data(), .log_decay = log_decay.data(), .scale = scale};
  }
  template <class To>
  [[nodiscard]] gla_problem<To> as() const {
    return {.shape = shape,
            .scale = static_cast<To>(scale),
            .q = converted<To>(q),
            .k = converted<To>(k),
            .v = converted<To>(v),
            .log_decay = converted<To>(log_decay),
            .initial = converted<To>(initial),
            .d_o = converted<To>(d_o),
            .d_final = converted<To>(d_final)};
  }
};

/// Everything that kernels compute for a problem. Outputs start as NaN, so that whatever is not written shows.
template <class T>
struct gla_result {
  std::vector<T> o, final, dq, dk, dv, dlog_decay, d_initial;

  explicit gla_result(const gla_problem<T>& p)
      : o(p.v.size(), nan),
        final(p.initial.size(), nan),
        dq(p.q.size(), nan),
        dk(p.k.size(), nan),
        dv(p.v.size(), nan),
        dlog_decay(p.log_decay.size(), nan),
        d_initial(p.initial.size(), nan) {}

  [[nodiscard]] gla_gradients<T> gradients() {
    return {.dq = dq.data(), .dk = dk.data(), .dv = dv.data(), .dlog_decay = dlog_decay.data()};
  }

  static constexpr T nan = std::numeric_limits<T>::quiet_NaN();
};

/// Normally distributed tensors, representable in float. `gate(generator, token, head, row)` draws a log decay.
template <class Gate, class Draw>
gla_problem<double> random_problem(const token_shape& s, Draw gate, unsigned seed = 1) {
  std::mt19937 random{seed};
  std::normal_distribution<double> normal;
  const auto fill = [&](std::size_t n) {
    std::vector<double> x(n);
    std::generate(x.begin(), x.end(), [&] { return static_cast<double>(static_cast<float>(normal(random))); });
    return x;
  };
  const std::size_t width = kernel::gate_width<Gate>(s.key_dim);
  gla_problem<double> p{.shape = s,
                        .scale = 0.25,
                        .q = fill(s.key_elements()),
                        .k = fill(s.key_elements()),
                        .v = fill(s.value_elements()),
                        .log_decay = std::vector<double>(s.rows() * width),
                        .initial = fill(s.state().elements()),
                        .d_o = fill(s.value_elements()),
                        .d_final = fill(s.state().elements())};
  for (std::size_t i = 0; i < p.log_decay.size(); ++i) {
    const double g = gate(random, i / width / s.heads % s.tokens, i / width % s.heads, i % width);
    p.log_decay[i] = static_cast<double>(static_cast<float>(g));
  }
  return p;
}

inline double mild_gate(std::mt19937& random, std::size_t, std::size_t, std::size_t) {
  return std::uniform_real_distribution<double>{-0.3, 0.0}(random);
}

inline gla_problem<double> problem_of(const golden_case& golden) {
  return {.shape = golden.shape(),
          .scale = golden.scale(),
          .q = golden.tensor("q"),
          .k = golden.tensor("k"),
          .v = golden.tensor("v"),
          .log_decay = golden.log_decay(),
          .initial = golden.tensor("h0"),
          .d_o = golden.tensor("do"),
          .d_final = golden.tensor("dht")};
}

/// The token-serial results of precision T.
template <class Gate, class T>
gla_result<T> serial(const gla_problem<T>& p) {
  gla_result<T> r{p};
  reference::gla_forward<Gate>(p.shape, p.tokens(), p.initial.data(), r.o.data(), r.final.data());
  reference::gla_backward<Gate>(p.shape, p.tokens(), p.initial.data(), p.d_o.data(), p.d_final.data(), r.gradients(),
                                r.d_initial.data());
  return r;
}

/// Tokens [part.begin, part.end) of a tensor [batch, tokens, width].
template <class T>
std::vector<T> cut(const std::vector<T>& whole, const token_shape& s, unit_range part) {
  const std::size_t width = s.tokens == 0 ? 0 : whole.size() / s.batch / s.tokens;
  std::vector<T> out;
  for (std::size_t b = 0; b < s.batch; ++b) {
    const T* from = whole.data() + (b * s.tokens + part.begin) * width;
    out.insert(out.end(), from, from + part.size() * width);
  }
  return out;
}

/// The inverse of cut().
template <class T>
void paste(const std::vector<T>& from, const token_shape& s, unit_range part, std::vector<T>& whole) {
  const std::size_t width = s.tokens == 0 ? 0 : whole.size() / s.batch / s.tokens;
  for (std::size_t b = 0; b < s.batch; ++b) {
    std::copy_n(from.data() + b * part.size() * width, part.size() * width, whole.data() + (b * s.tokens + part.begin) * width);
  }
}

/// The tokens of one part of a problem, with the whole problem's states.
template <class T>
gla_problem<T> cut(const gla_problem<T>& p, unit_range part) {
  gla_problem<T> out{.shape = p.shape,
                     .scale = p.scale,
                     .q = cut(p.q, p.shape, part),
                     .k = cut(p.k, p.shape, part),
                     .v = cut(p.v, p.shape, part),
                     .log_decay = cut(p.log_decay, p.shape, part),
                     .initial = p.initial,
                     .d_o = cut(p.d_o, p.shape, part),
                     .d_final = p.d_final};
  out.shape.tokens = part.size();
  return out;
}

template <class T>
void paste(const gla_result<T>& from, const token_shape& s, unit_range part, gla_result<T>& whole) {
  paste(from.o, s, part, whole.o);
  paste(from.dq, s, part, whole.dq);
  paste(from.dk, s, part, whole.dk);
  paste(from.dv, s, part, whole.dv);
  paste(from.dlog_decay, s, part, whole.dlog_decay);
}

/// carry = e^{log decay} carry + state, by rows.
template <class T>
std::vector<T> fold(const std::vector<T>& log_decay, std::vector<T> carry, const std::vector<T>& state) {
  for (std::size_t i = 0; i < carry.size(); ++i) {
    carry[i] = std::exp(log_decay[i / (carry.size() / log_decay.size())]) * carry[i] + state[i];
  }
  return carry;
}

/// What the parts of a sequence hand on: forward, element p is the state before part p; backward, the gradient on it.
template <class T>
struct handed_on {
  std::vector<std::vector<T>> carry, d_carry;
};

/// The chunked results of a sequence cut before the tokens `cuts` (ascending), every part as a rank would compute it.
template <class Gate, class T>
gla_result<T> chunked(const gla_problem<T>& p, std::size_t chunk, const std::vector<std::size_t>& cuts = {},
                      handed_on<T>* states = nullptr) {
  std::vector<std::size_t> bounds{0};
  bounds.insert(bounds.end(), cuts.begin(), cuts.end());
  bounds.push_back(p.shape.tokens);
  const std::size_t parts = bounds.size() - 1;
  const std::size_t width = p.shape.batch * p.shape.heads * kernel::gate_width<Gate>(p.shape.key_dim);

  gla_result<T> whole{p};
  handed_on<T> handed;
  handed.carry.push_back(p.initial);
  std::vector<gla_problem<T>> part;
  std::vector<gla_result<T>> result;
  std::vector<std::vector<T>> decays;
  for (std::size_t i = 0; i < parts; ++i) {
    part.push_back(cut(p, {bounds[i], bounds[i + 1]}));
    result.emplace_back(part[i]);
    gla_result<T>& r = result[i];
    decays.emplace_back(width, gla_result<T>::nan);
    cpu::summarize<Gate>(part[i].shape, chunk, part[i].tokens(), r.final.data(), decays[i].data());
    handed.carry.push_back(fold(decays[i], handed.carry[i], r.final));
    cpu::intra_chunk<Gate>(part[i].shape, chunk, part[i].tokens(), r.o.data());
    cpu::add_carry<Gate>(part[i].shape, chunk, part[i].tokens(), handed.carry[i].data(), r.o.data());
  }
  whole.final = handed.carry[parts];

  handed.d_carry.assign(parts + 1, p.d_final);
  for (std::size_t i = parts; i-- > 0;) {
    gla_result<T>& r = result[i];
    const gla_problem<T>& x = part[i];
    cpu::summarize_backward<Gate>(x.shape, chunk, x.tokens(), x.d_o.data(), r.d_initial.data());
    handed.d_carry[i] = fold(decays[i], handed.d_carry[i + 1], r.d_initial);
    cpu::intra_chunk_backward<Gate>(x.shape, chunk, x.tokens(), x.d_o.data(), r.gradients());
    cpu::add_carry_backward<Gate>(x.shape, chunk, x.tokens(), handed.carry[i].data(), x.d_o.data(),
                                  handed.d_carry[i + 1].data(), r.gradients());
    paste(r, p.shape, {bounds[i], bounds[i + 1]}, whole);
  }
  whole.d_initial = handed.d_carry[0];
  if (states != nullptr) *states = handed;
  return whole;
}

/// rms(expected - actual) / rms(expected), where rms(expected) counts as at least `floor`.
template <class T, class Expected>
double distance(const std::vector<Expected>& expected, const std::vector<T>& actual, double floor) {
  long double error = 0;
  long double norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto e = static_cast<long double>(expected[i]);
    error += (e - static_cast<long double>(actual[i])) * (e - static_cast<long double>(actual[i]));
    norm += e * e;
  }
  const auto n = static_cast<long double>(std::max<std::size_t>(expected.size(), 1));
  return static_cast<double>(std::sqrt(error / n) / std::max(std::sqrt(norm / n), static_cast<long double>(floor)));
}

/// The limits of what an operator computes in precision T.
template <class T>
struct limits;
template <>
struct limits<float> {
  static constexpr double forward = 1e-5;
  static constexpr double backward = 1e-4;
  static constexpr double floor = 1e-30;  // near the smallest normal number nothing relative can be asked
};
template <>
struct limits<double> {
  static constexpr double forward = 1e-12;
  static constexpr double backward = 1e-12;
  static constexpr double floor = 1e-290;
};

template <class T, class Expected>
void expect_close(const std::vector<Expected>& expected, const std::vector<T>& actual, double limit, const std::string& what) {
  ASSERT_EQ(expected.size(), actual.size()) << what;
  EXPECT_LE(distance(expected, actual, limits<T>::floor), limit) << what;  // a NaN fails
}

template <class T, class Expected>
void expect_close(const gla_result<Expected>& expected, const gla_result<T>& actual, const std::string& what) {
  expect_close(expected.o, actual.o, limits<T>::forward, "o, " + what);
  expect_close(expected.final, actual.final, limits<T>::forward, "final state, " + what);
  expect_close(expected.dq, actual.dq, limits<T>::backward, "dq, " + what);
  expect_close(expected.dk, actual.dk, limits<T>::backward, "dk, " + what);
  expect_close(expected.dv, actual.dv, limits<T>::backward, "dv, " + what);
  expect_close(expected.dlog_decay, actual.dlog_decay, limits<T>::backward, "dlog_decay, " + what);
  expect_close(expected.d_initial, actual.d_initial, limits<T>::backward, "d_initial, " + what);
}

/// A golden case's own results.
inline void expect_golden(const golden_case& golden, const auto& actual, const std::string& what) {
  using T = typename std::decay_t<decltype(actual.o)>::value_type;
  expect_close(golden.tensor("o"), actual.o, limits<T>::forward, "o, " + what);
  expect_close(golden.tensor("ht"), actual.final, limits<T>::forward, "ht, " + what);
  expect_close(golden.tensor("dq"), actual.dq, limits<T>::backward, "dq, " + what);
  expect_close(golden.tensor("dk"), actual.dk, limits<T>::backward, "dk, " + what);
  expect_close(golden.tensor("dv"), actual.dv, limits<T>::backward, "dv, " + what);
  if (golden.has("dg")) expect_close(golden.tensor("dg"), actual.dlog_decay, limits<T>::backward, "dg, " + what);
  expect_close(golden.tensor("dh0"), actual.d_initial, limits<T>::backward, "dh0, " + what);
}

/// A gate and a precision, for typed tests.
template <class G, class Element>
struct kernel_case {
  using gate = G;
  using scalar = Element;
};
using kernel_cases = ::testing::Types<kernel_case<kind::scalar, float>, kernel_case<kind::scalar, double>,
                                      kernel_case<kind::diagonal, float>, kernel_case<kind::diagonal, double>>;

/// Calls f<Gate>() for the gate of a golden case.
void with_gate_of(const golden_case& golden, auto f) {
  if (golden.diagonal_gate()) {
    f.template operator()<kind::diagonal>();
  } else {
    f.template operator()<kind::scalar>();
  }
}

}  // namespace allscan::test
