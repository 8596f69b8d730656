/// The text to learn, and what can be said about it without a model.
#pragma once

#include "random.hpp"

#include <array>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace lm {

using bytes = std::span<const std::uint8_t>;

/// Where Debian and Ubuntu keep a text of 35 kB.
inline constexpr const char* default_text = "/usr/share/common-licenses/GPL-3";

/// @throws std::runtime_error that names the file.
[[nodiscard]] inline std::vector<std::uint8_t> read_text(const std::string& path) {
  errno = 0;
  std::ifstream file{path, std::ios::binary};
  std::ostringstream content;
  if (file.peek() != std::ifstream::traits_type::eof()) content << file.rdbuf();
  if (!file.is_open() || file.bad() || content.fail()) {
    throw std::runtime_error("cannot read " + path + " (" + std::generic_category().message(errno) +
                             "): pass a text with --text FILE");
  }
  const std::string text = content.str();
  return {text.begin(), text.end()};
}

/// In nats per byte. A model that knows only how often each byte occurs reaches `byte`; one that also sees the byte before
/// reaches `conditional`.
struct entropies {
  double byte = 0;
  double conditional = 0;
};

[[nodiscard]] inline entropies entropies_of(bytes text) {
  std::array<double, 256> previous{};  // counts of each byte that has a successor
  std::array<double, 256> counts{};
  std::vector<double> pairs(std::size_t{256} * 256);
  for (std::size_t i = 0; i < text.size(); ++i) {
    counts[text[i]] += 1;
    if (i == 0) continue;
    previous[text[i - 1]] += 1;
    pairs[std::size_t{256} * text[i - 1] + text[i]] += 1;
  }
  entropies e;
  const auto total = static_cast<double>(text.size());
  for (const double n : counts) {
    if (n > 0) e.byte -= n / total * std::log(n / total);
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i] > 0) e.conditional -= pairs[i] / (total - 1) * std::log(pairs[i] / previous[i / 256]);
  }
  return e;
}

/// `tokens` bytes from a random place, and the one after: the last byte's target. The text holds at least tokens + 1.
[[nodiscard]] inline bytes random_window(bytes text, std::size_t tokens, random_numbers& random) {
  const std::size_t places = text.size() - tokens;
  return text.subspan(random.bits() % places, tokens + 1);
}

}  // namespace lm
