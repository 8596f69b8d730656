/// Proves a set of programs, one a position: messages matched and in order, everything written once before it is read, storage
/// shared safely, every unit delivered once, nothing waiting for itself, and every result the fold of just the summaries it
/// stands for, in order.
#pragma once

#include <allscan/collective/program.hpp>
#include <allscan/collective/writers.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace allscan {

namespace detail {

class validator {
 public:
  validator(std::span<const program> programs, std::span<const scan_request> requests)
      : programs_{programs}, requests_{requests} {}

  [[nodiscard]] std::string run() {
    for (const program& p : programs_) {
      const writers written{p};
      buffers(p, written);
      shared_storage(p, written);
      deliveries(p);
    }
    messages();
    if (problem_.empty()) run_all();
    return problem_;
  }

 private:
  void fail(const program& p, std::size_t i, const std::string& what) {
    if (problem_.empty()) {
      problem_ =
          std::string{p.algorithm} + ", position " + std::to_string(p.position) + ", step " + std::to_string(i) + ": " + what;
    }
  }

  static bool overlap(unit_range a, unit_range b) { return a.begin < b.end && b.begin < a.end; }

  static std::vector<std::pair<buffer, payload>> reads(const step& s) {
    switch (s.what) {
      case operation::send: return {{s.in, s.carries}};
      case operation::deliver: return {{s.in, payload::state}};
      case operation::fold: return {{s.in, payload::state}, {s.summary, payload::state}, {s.summary, payload::transition}};
      case operation::receive: break;
    }
    return {};
  }

  void buffers(const program& p, const writers& written) {
    for (std::size_t i = 0; i < p.steps.size(); ++i) {
      const step& s = p.steps[i];
      if (s.units.empty() || s.units.end > p.units) fail(p, i, "its units are empty or outside the state");
      const bool has_peer = s.what == operation::send || s.what == operation::receive;
      if (has_peer && (s.peer < 0 || s.peer >= p.size || s.peer == p.position)) fail(p, i, "it has no peer");
      for (const auto& [b, carries] : reads(s)) {
        if (b == initial_carry && !requests_[static_cast<std::size_t>(p.position)].initial_carry) {
          fail(p, i, "it reads an initial carry where none is given");
        }
        if (b == initial_carry && p.position != 0) fail(p, i, "it reads the initial carry of another position");
        if (b == no_buffer) fail(p, i, "it reads no buffer");
        if (b >= first_free_buffer && written.find(i, b, carries) < 0) fail(p, i, "it reads what nobody has written");
      }
      if (s.what == operation::send || s.what == operation::deliver) continue;
      if (s.out < first_free_buffer) fail(p, i, "it writes no buffer of its own");
      for (std::size_t j = 0; j < i; ++j) {
        const step& t = p.steps[j];
        if (t.out == s.out && t.carries == s.carries && overlap(t.units, s.units)) fail(p, i, "it writes units again");
      }
    }
  }

  // A write to a storage that another buffer had must follow that buffer's readers through reads alone.
  void shared_storage(const program& p, const writers& written) {
    for (std::size_t i = 0; i < p.steps.size() && problem_.empty(); ++i) {
      const step& s = p.steps[i];
      if (s.out < first_free_buffer) continue;
      for (std::size_t j = 0; j < p.steps.size(); ++j) {
        if (i == j || !overlap(p.steps[j].units, s.units)) continue;
        const auto touches = [&](buffer b) {
          return b >= first_free_buffer && b != s.out && p.storage_of(b) == p.storage_of(s.out);
        };
        const step& t = p.steps[j];
        const bool shares = touches(t.in) || touches(t.summary) || touches(t.out);
        if (!shares) continue;
        const bool ordered = j < i ? depends_on(p, written, i, j) : depends_on(p, written, j, i);
        if (!ordered || (j < i && t.what == operation::send))
          fail(p, i, "it overwrites what step " + std::to_string(j) + " still uses");
      }
    }
  }

  // True if `later` reads, directly or through other steps, what `earlier` wrote.
  static bool depends_on(const program& p, const writers& written, std::size_t later, std::size_t earlier) {
    if (later == earlier) return true;
    if (later < earlier) return false;
    for (const auto& [b, carries] : reads(p.steps[later])) {
      if (b < first_free_buffer) continue;
      const std::ptrdiff_t from = written.find(later, b, carries);
      if (from >= 0 && depends_on(p, written, static_cast<std::size_t>(from), earlier)) return true;
    }
    return false;
  }

  void deliveries(const program& p) {
    const scan_request& want = requests_[static_cast<std::size_t>(p.position)];
    for (const auto& [to, wanted] : {std::pair{result::carry, want.carry}, std::pair{result::outgoing, want.outgoing}}) {
      std::vector<unit_range> got;
      for (const step& s : p.steps) {
        if (s.what == operation::deliver && s.to == to) got.push_back(s.units);
      }
      std::sort(got.begin(), got.end(), [](unit_range a, unit_range b) { return a.begin < b.begin; });
      std::size_t next = 0;
      bool exact = true;
      for (const unit_range r : got) {
        exact = exact && r.begin == next;
        next = r.end;
      }
      if (!exact || next != (wanted ? p.units : 0))
        fail(p, p.steps.size(), "it does not deliver every unit asked for exactly once");
    }
  }

  using channel = std::pair<int, int>;  // from, to
  using message = std::tuple<payload, std::size_t, std::size_t>;

  void messages() {
    std::map<channel, std::vector<message>> sent;
    std::map<channel, std::vector<message>> received;
    for (const program& p : programs_) {
      for (const step& s : p.steps) {
        const message m{s.carries, s.units.begin, s.units.end};
        if (s.what == operation::send) sent[{p.position, s.peer}].push_back(m);
        if (s.what == operation::receive) received[{s.peer, p.position}].push_back(m);
      }
    }
    if (sent != received) fail(programs_[0], 0, "messages sent and received do not match in number, order or units");
  }

  /// What a buffer holds at some units: the fold of positions [begin, end), on top of the initial carry or not.
  struct content {
    int begin = 0;
    int end = 0;
    bool initial = false;
    friend bool operator==(const content&, const content&) = default;
  };

  // Runs all positions at once, each in its order, sends never waiting. Nobody may be left waiting, and every result must be
  // the fold of all positions before it.
  void run_all() {
    std::vector<std::size_t> at(programs_.size());
    std::vector<std::vector<content>> contents(programs_.size());
    std::map<channel, std::deque<content>> in_flight;
    for (const program& p : programs_) contents[static_cast<std::size_t>(p.position)].resize(p.steps.size());
    for (bool moved = true; moved;) {
      moved = false;
      for (const program& p : programs_) {
        const auto self = static_cast<std::size_t>(p.position);
        const writers written{p};
        for (std::size_t& i = at[self]; i < p.steps.size(); ++i, moved = true) {
          const step& s = p.steps[i];
          const auto read = [&](buffer b, payload carries) {
            if (b == local_summary) return content{p.position, p.position + 1, false};
            if (b == initial_carry) return content{0, 0, true};
            if (b == identity_state) return content{0, 0, false};
            return contents[self][static_cast<std::size_t>(written.find(i, b, carries))];
          };
          if (s.what == operation::receive) {
            std::deque<content>& waiting = in_flight[{s.peer, p.position}];
            if (waiting.empty()) break;
            contents[self][i] = waiting.front();
            waiting.pop_front();
          } else if (s.what == operation::send) {
            in_flight[{p.position, s.peer}].push_back(read(s.in, s.carries));
          } else if (s.what == operation::fold) {
            const content carry = read(s.in, payload::state);
            const content summary = read(s.summary, payload::state);
            if (carry.end != summary.begin || summary.initial || !(read(s.summary, payload::transition) == summary)) {
              fail(p, i, "it folds what does not follow in order");
            }
            contents[self][i] = {carry.begin, summary.end, carry.initial};
          } else {
            const content want{0, s.to == result::carry ? p.position : p.position + 1, requests_[0].initial_carry};
            if (!(read(s.in, payload::state) == want))
              fail(p, i, "it delivers something else than the fold of all positions before");
          }
        }
      }
    }
    for (const program& p : programs_) {
      const std::size_t i = at[static_cast<std::size_t>(p.position)];
      if (i < p.steps.size()) fail(p, i, "it waits for ever");
    }
  }

  std::span<const program> programs_;
  std::span<const scan_request> requests_;
  std::string problem_;
};

}  // namespace detail

/// Checks the programs of all positions together. Cost: quadratic in the steps; for tests, not for the hot path.
/// @returns the first problem in words, or an empty string for a valid set.
[[nodiscard]] inline std::string validate(std::span<const program> programs, std::span<const scan_request> requests) {
  return detail::validator{programs, requests}.run();
}

}  // namespace allscan
