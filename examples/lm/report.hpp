/// What a run found, as a table, CSV and JSON.
#pragma once

#include "json.hpp"
#include "options.hpp"
#include "text.hpp"
#include "verification.hpp"

#include <cstddef>
#include <iomanip>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace lm {

/// Losses and entropies in nats a byte. Where ranks differ, the largest value of any rank.
struct results {
  std::size_t text_bytes = 0;
  entropies text = {};
  int ranks = 0;
  std::string transport = {};
  std::size_t parameters = 0;
  std::vector<double> curve = {};  ///< the loss before each step, on the part of the text that the step sees

  std::size_t evaluated_bytes = 0;  ///< the beginning of the text, evaluated as one sequence before and after training
  double loss_at_start = 0;
  double loss_at_end = 0;

  double seconds = 0;  ///< of training alone
  double tokens_per_second = 0;
  double scans = 0;
  double bytes_sent = 0;
  double allgather_bytes = 0;  ///< what would have been sent, had each scan been an all-gather of states and decays
  double scan_seconds = 0;
  double exposed_scan_seconds = 0;

  std::optional<comparison> verification = {};
  std::optional<carry_control> control = {};
};

inline void write_csv(std::ostream& out, const results& r) {
  out << "step,loss\n" << std::setprecision(17);
  for (std::size_t i = 0; i < r.curve.size(); ++i) out << i + 1 << ',' << r.curve[i] << '\n';
}

namespace detail {

template <class... Values>
[[nodiscard]] std::string decimal(int digits, const Values&... values) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits);
  (out << ... << values);
  return out.str();
}

[[nodiscard]] inline std::string scientific(double x) {
  std::ostringstream out;
  out << std::scientific << std::setprecision(1) << x;
  return out.str();
}

inline void line(std::ostream& out, std::string_view name, const std::string& value) {
  out << std::left << std::setw(48) << name << value << '\n';
}

}  // namespace detail

inline void write_table(std::ostream& out, const options& o, const results& r) {
  using detail::decimal;
  using detail::line;
  const auto steps = static_cast<double>(r.curve.size());
  line(out, "text", o.text + ", " + std::to_string(r.text_bytes) + " bytes");
  line(out, "model", std::to_string(r.parameters) + " parameters, " + (o.in_double ? "double" : "float"));
  line(out, "ranks", std::to_string(r.ranks) + " (" + r.transport + "), " + std::to_string(o.tokens) + " tokens a step");
  line(out, "entropy of a byte", decimal(3, r.text.byte, " nats"));
  line(out, "entropy of a byte given the one before", decimal(3, r.text.conditional, " nats"));
  line(out, "loss at start", decimal(3, r.loss_at_start, " nats"));
  line(out, "loss at end", decimal(3, r.loss_at_end, " nats"));
  line(out, "  both over " + std::string{r.evaluated_bytes == r.text_bytes ? "the whole text" : "the first bytes"},
       std::to_string(r.evaluated_bytes) + " bytes as one sequence");
  line(out, "training", decimal(1, r.seconds, " s, ") + decimal(0, r.tokens_per_second, " tokens/s"));
  line(out, "sent by a rank in all scans", decimal(0, r.bytes_sent, " bytes in ", r.scans, " scans"));
  line(out, "  an all-gather would have sent", decimal(0, r.allgather_bytes, " bytes"));
  line(out, "time in the scan, a step", decimal(3, 1e3 * r.scan_seconds / steps, " ms"));
  line(out, "  of it exposed", decimal(3, 1e3 * r.exposed_scan_seconds / steps, " ms"));
  if (r.control) {
    out << '\n';
    line(out, "loss over " + std::to_string(carry_control::tokens) + " tokens after each rank boundary",
         decimal(3, r.control->carried, " nats"));
    line(out, "  with the carry severed", decimal(3, r.control->severed, " nats"));
  }
  if (r.verification) {
    const comparison& v = *r.verification;
    out << '\n';
    line(out, "the first " + std::to_string(v.steps) + " steps against one rank",
         std::string{v.passes() ? "equal" : "DIFFERENT"} + " within " + detail::scientific(v.limit));
    line(out, "  loss, relative, at worst", detail::scientific(v.loss_difference));
    for (const comparison::tensor& t : v.tensors) line(out, "  " + t.name, detail::scientific(t.difference));
  }
}

inline void write_json(std::ostream& out, const options& o, const results& r) {
  json_object all;
  all.add("text", o.text);
  all.add("text_bytes", r.text_bytes);
  all.add("tokens", o.tokens);
  all.add("steps", r.curve.size());
  all.add("seed", o.seed);
  all.add("precision", o.in_double ? "double" : "float");
  all.add("ranks", r.ranks);
  all.add("transport", r.transport);
  all.add("parameters", r.parameters);
  all.add("byte_entropy", r.text.byte);
  all.add("conditional_entropy", r.text.conditional);
  all.add("evaluated_bytes", r.evaluated_bytes);
  all.add("loss_at_start", r.loss_at_start);
  all.add("loss_at_end", r.loss_at_end);
  all.add("seconds", r.seconds);
  all.add("tokens_per_second", r.tokens_per_second);
  all.add("scans", r.scans);
  all.add("bytes_sent", r.bytes_sent);
  all.add("allgather_bytes", r.allgather_bytes);
  all.add("scan_seconds", r.scan_seconds);
  all.add("exposed_scan_seconds", r.exposed_scan_seconds);
  if (r.control) {
    all.add("boundary_loss", r.control->carried);
    all.add("boundary_loss_severed", r.control->severed);
  }
  if (r.verification) {
    const comparison& v = *r.verification;
    json_object differences;
    for (const comparison::tensor& t : v.tensors) differences.add(t.name, t.difference);
    json_object verification;
    verification.add("passes", v.passes());
    verification.add("steps", v.steps);
    verification.add("limit", v.limit);
    verification.add("loss", v.loss_difference);
    verification.add("tensors", differences);
    all.add("verification", verification);
  }
  all.add("loss", r.curve);
  out << all.text() << '\n';
}

}  // namespace lm
