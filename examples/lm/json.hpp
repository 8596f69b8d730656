/// As much JSON as the report needs.
#pragma once

#include <cmath>
#include <concepts>
#include <iomanip>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

namespace lm {

class json_object {
 public:
  /// JSON has no number for what is not finite: null.
  void add(std::string_view name, double x) { append(name, number(x)); }
  void add(std::string_view name, std::string_view s) { append(name, quote(s)); }
  template <std::integral Integer>
  void add(std::string_view name, Integer x) {
    append(name, std::is_same_v<Integer, bool> ? (x ? "true" : "false") : std::to_string(x));
  }
  void add(std::string_view name, const json_object& o) { append(name, o.text()); }
  void add(std::string_view name, std::span<const double> list) {
    std::string all;
    for (const double x : list) all += (all.empty() ? "" : ", ") + number(x);
    append(name, "[" + all + "]");
  }

  [[nodiscard]] std::string text() const { return "{" + members_ + "}"; }

 private:
  void append(std::string_view name, const std::string& value) {
    members_ += (members_.empty() ? "" : ",\n ") + quote(name) + ": " + value;
  }

  static std::string number(double x) {
    std::ostringstream out;
    out << std::setprecision(17) << x;
    return std::isfinite(x) ? out.str() : "null";
  }

  /// Bytes other than control characters pass through: paths are taken to be UTF-8.
  static std::string quote(std::string_view s) {
    std::ostringstream out;
    out << '"' << std::hex << std::setfill('0');
    for (const char c : s) {
      if (c == '"' || c == '\\') {
        out << '\\' << c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        out << "\\u" << std::setw(4) << static_cast<int>(c);
      } else {
        out << c;
      }
    }
    out << '"';
    return out.str();
  }

  std::string members_;
};

}  // namespace lm
