/// The command line.
#pragma once

#include "text.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lm {

struct options {
  std::string text = default_text;
  std::size_t tokens = 4096;
  std::size_t steps = 200;
  std::uint64_t seed = 1;
  bool in_double = false;
  std::optional<int> ranks = {};  ///< unset: 4 threads, or as many as mpirun started
  bool verify = false;
  std::string csv = {};   ///< empty: standard output
  std::string json = {};  ///< empty: not written
  bool help = false;
};

inline constexpr std::string_view usage =
    R"(gla_lm: trains a byte-level language model of two gated linear attention blocks on a text, one long sequence
split over the ranks. Ranks are threads; under mpirun they are its processes.

  --text FILE         the text (default /usr/share/common-licenses/GPL-3)
  --tokens N          bytes of the sequence that each step trains on (default 4096)
  --steps N           optimizer steps (default 200)
  --seed N            of the initial weights and of the places in the text (default 1)
  --precision P       float or double (default float)
  --ranks N           threads the sequence is split over (default 4; under mpirun its number of processes)
  --verify            repeat the first 20 steps on one rank and compare; show what the carry is worth
  --csv FILE          the loss curve goes there, else to standard output
  --json FILE         the loss curve and all results, in addition
  --help              this text
)";

namespace detail {

template <class Number>
[[nodiscard]] Number parse_number(std::string_view option, std::string_view value, Number least) {
  Number number{};
  const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (failure != std::errc{} || end != value.data() + value.size() || number < least) {
    throw std::runtime_error(std::string{option} + " takes a whole number of at least " + std::to_string(least) + ", not \"" +
                             std::string{value} + "\"");
  }
  return number;
}

}  // namespace detail

/// @throws std::runtime_error that names the argument and what it takes.
[[nodiscard]] inline options parse_options(std::span<const char* const> arguments) {
  options o;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view option = arguments[i];
    const auto value = [&]() -> std::string_view {
      if (i + 1 == arguments.size()) throw std::runtime_error(std::string{option} + " needs a value: see --help");
      return arguments[++i];
    };
    if (option == "--text") {
      o.text = value();
    } else if (option == "--tokens") {
      o.tokens = detail::parse_number<std::size_t>(option, value(), 1);
    } else if (option == "--steps") {
      o.steps = detail::parse_number<std::size_t>(option, value(), 1);
    } else if (option == "--seed") {
      o.seed = detail::parse_number<std::uint64_t>(option, value(), 0);
    } else if (option == "--ranks") {
      o.ranks = detail::parse_number<int>(option, value(), 1);
    } else if (option == "--precision") {
      const std::string_view precision = value();
      if (precision != "float" && precision != "double") {
        throw std::runtime_error("--precision takes float or double, not \"" + std::string{precision} + "\"");
      }
      o.in_double = precision == "double";
    } else if (option == "--verify") {
      o.verify = true;
    } else if (option == "--csv") {
      o.csv = value();
    } else if (option == "--json") {
      o.json = value();
    } else if (option == "--help") {
      o.help = true;
    } else {
      throw std::runtime_error("unknown argument \"" + std::string{option} + "\": see --help");
    }
  }
  return o;
}

}  // namespace lm
