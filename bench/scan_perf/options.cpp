#include "options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <limits>

namespace scan_perf {
namespace {

constexpr std::array kinds{kind_name::none,        kind_name::scalar,   kind_name::diagonal,
                           kind_name::elementwise, kind_name::rotation, kind_name::dense};

struct flag {
  std::string short_name;
  std::string long_name;
  std::string argument;  // empty: takes none
  std::string meaning;
  std::function<void(options&, const std::string&)> apply;
};

[[noreturn]] void refuse(const std::string& value, const std::string& wanted) {
  throw usage_error('"' + value + "\": pass " + wanted);
}

constexpr std::size_t largest_count = std::numeric_limits<int>::max();

std::size_t parse_number(const std::string& text, std::size_t least, std::size_t most = largest_count) {
  std::size_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size() || value < least || value > most) {
    refuse(text, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

/// Digits and an optional suffix K, M or G: powers of two.
std::size_t parse_size(const std::string& text) {
  constexpr std::size_t least = 8;
  constexpr std::size_t most = std::size_t{1} << 40;
  std::size_t value = 0;
  const char* last = text.data() + text.size();
  auto [end, fault] = std::from_chars(text.data(), last, value);
  int shift = 0;
  if (fault == std::errc{} && end + 1 == last) {
    shift = *end == 'K' || *end == 'k' ? 10 : *end == 'M' || *end == 'm' ? 20 : *end == 'G' || *end == 'g' ? 30 : 0;
    if (shift != 0) ++end;
  }
  if (fault != std::errc{} || end != last || value > (most >> shift) || (value << shift) < least) {
    refuse(text, "a size in bytes from 8 to 1024G, such as 65536, 64K or 1M");
  }
  return value << shift;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words{""};
  for (const char c : text) {
    if (c == ',') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::vector<std::string> parse_algorithms(const std::string& text) {
  auto words = split(text);
  for (const auto& word : words) {
    if (word != "chain" && word != "gather" && word != "automatic") {
      refuse(word, "algorithms out of chain, gather and automatic, with commas between them");
    }
  }
  return words;
}

kind_name parse_kind(const std::string& text) {
  const auto* const found = std::find_if(kinds.begin(), kinds.end(), [&](kind_name kind) { return to_string(kind) == text; });
  if (found == kinds.end()) refuse(text, "none, scalar, diagonal, elementwise, rotation or dense");
  return *found;
}

std::vector<scan_name> parse_scans(const std::string& text) {
  if (text == "exclusive") return {scan_name::exclusive};
  if (text == "inclusive") return {scan_name::inclusive};
  if (text == "both") return {scan_name::exclusive, scan_name::inclusive};
  refuse(text, "exclusive, inclusive or both");
}

bool parse_reverse(const std::string& text) {
  if (text != "forward" && text != "reverse") refuse(text, "forward or reverse");
  return text == "reverse";
}

std::vector<std::size_t> parse_blocks(const std::string& text) {
  std::vector<std::size_t> blocks;
  for (const auto& word : split(text)) blocks.push_back(parse_number(word, 0));
  return blocks;
}

const std::vector<flag>& flags() {
  using text = const std::string&;
  static const std::vector<flag> table{
      {"-b", "--begin", "SIZE", "smallest state of a rank in bytes, suffix K, M or G (64K)",
       [](options& o, text value) { o.begin = parse_size(value); }},
      {"-e", "--end", "SIZE", "largest state of a rank (16M)", [](options& o, text value) { o.end = parse_size(value); }},
      {"-f", "--factor", "N", "from one size to the next (4)",
       [](options& o, text value) { o.factor = parse_number(value, 2); }},
      {"-n", "--iters", "N", "timed iterations (21)", [](options& o, text value) { o.iterations = parse_number(value, 1); }},
      {"-w", "--warmup", "N", "iterations before them (5)", [](options& o, text value) { o.warmup = parse_number(value, 0); }},
      {"-c", "--check", "0|1", "count wrong elements (1)",
       [](options& o, text value) { o.check = parse_number(value, 0, 1) == 1; }},
      {"-a", "--algorithms", "LIST", "of chain, gather, automatic (chain,gather)",
       [](options& o, text value) { o.algorithms = parse_algorithms(value); }},
      {"-k", "--kind", "KIND", "none, scalar, diagonal, elementwise, rotation or dense (diagonal)",
       [](options& o, text value) { o.kind = parse_kind(value); }},
      {"-s", "--scan", "SCAN", "exclusive, inclusive or both (exclusive)",
       [](options& o, text value) { o.scans = parse_scans(value); }},
      {"-d", "--direction", "DIR", "forward or reverse (forward)",
       [](options& o, text value) { o.reverse = parse_reverse(value); }},
      {"-B", "--blocks", "LIST", "block counts; 0: the plan's choice (0)",
       [](options& o, text value) { o.blocks = parse_blocks(value); }},
      {"-t", "--threads", "N", "N ranks as threads of this process, without mpirun",
       [](options& o, text value) { o.threads = static_cast<int>(parse_number(value, 1, 1024)); }},
      {"", "--windows", "", "thread ranks read each other's memory instead of copying messages",
       [](options& o, text) { o.windows = true; }},
      {"-J", "--json", "FILE", "write the rows to FILE as a JSON array",
       [](options& o, text value) {
         if (value.empty()) refuse(value, "a file name");
         o.json = value;
       }},
      {"-h", "--help", "", "print this", [](options& o, text) { o.help = true; }},
  };
  return table;
}

}  // namespace

std::string_view to_string(kind_name kind) {
  constexpr std::array<std::string_view, kinds.size()> names{"none", "scalar", "diagonal", "elementwise", "rotation", "dense"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view to_string(scan_name scan) { return scan == scan_name::exclusive ? "exclusive" : "inclusive"; }

options parse(int argc, const char* const* argv) {
  options chosen;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    std::string value;
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const bool attached = equals != std::string::npos;
    if (attached) {
      value = word.substr(equals + 1);
      word.resize(equals);
    }
    const auto found = std::find_if(flags().begin(), flags().end(), [&](const flag& each) {
      return !word.empty() && (word == each.short_name || word == each.long_name);
    });
    if (found == flags().end()) throw usage_error("unknown flag \"" + word + "\": see --help");
    if (found->argument.empty() && attached) throw usage_error(word + " takes no value: see --help");
    if (!found->argument.empty() && !attached) {
      if (++i == argc) throw usage_error(word + " needs a value (" + found->argument + "): see --help");
      value = argv[i];
    }
    try {
      found->apply(chosen, value);
    } catch (const usage_error& fault) {
      throw usage_error(word + ' ' + fault.what());
    }
  }
  if (chosen.begin > chosen.end) throw usage_error("--begin is larger than --end: pass begin <= end");
  if (chosen.windows && chosen.threads == 0) throw usage_error("--windows is for thread ranks: pass -t N too");
  return chosen;
}

std::string help_text() {
  std::string text =
      "scan_perf: times the scans of a recurrent state over ranks against MPI's collectives, interleaved in one run\n"
      "usage: scan_perf -t N [flags]   or   mpirun -n N scan_perf [flags]\n";
  for (const auto& each : flags()) {
    std::string names =
        "  " + (each.short_name.empty() ? "    " : each.short_name + ", ") + each.long_name + ' ' + each.argument;
    names.resize(std::max<std::size_t>(names.size() + 1, 26), ' ');
    text += names + each.meaning + '\n';
  }
  return text + "Exit status: 0; 1 if an element is wrong or a rank failed; 2 for an unusable command line.\n";
}

std::vector<std::size_t> sizes(const options& chosen) {
  std::vector<std::size_t> bytes;
  for (std::size_t each = chosen.begin; each <= chosen.end; each *= chosen.factor) {
    bytes.push_back(each);
    if (each > chosen.end / chosen.factor) break;
  }
  return bytes;
}

}  // namespace scan_perf
