/// A program with its dependences worked out once: which step waits for which, and where each step's output goes.
#pragma once

#include <allscan/collective/program.hpp>
#include <allscan/collective/writers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace allscan {

/// Indices are 32-bit: a program of 2^31 steps does not fit in memory.
struct schedule {
  static constexpr std::int32_t none = -1;

  struct node {
    std::int32_t in_from = none;                  ///< the step that wrote what this one reads as `in`
    std::int32_t summary_state_from = none;       ///< ... as the summary's state
    std::int32_t summary_transition_from = none;  ///< ... as the summary's transition
    std::int32_t delivered_by = none;             ///< the step that delivers this one's output: it is put there at once
    bool may_skip_carry = false;                  ///< a fold of the local summary whose output shares its storage with none
    std::uint32_t waits = 0;                      ///< how many steps must be done before
    std::uint32_t readers = 0;                    ///< how many steps read its output
    std::uint32_t first_successor = 0;
    std::uint32_t successors = 0;
  };
  /// The messages with one peer in one direction, in order.
  struct queue {
    int peer = 0;
    std::vector<std::uint32_t> steps = {};
  };

  program source = {};
  std::vector<node> nodes = {};
  std::vector<std::uint32_t> successors = {};
  std::vector<queue> sends = {};
  std::vector<queue> receives = {};
  bool transitions_travel = false;
};

/// Done when a plan is constructed: n log n in the steps.
[[nodiscard]] inline schedule make_schedule(program p) {
  schedule s{.source = std::move(p)};
  const std::vector<step>& steps = s.source.steps;
  const writers written{s.source};
  s.nodes.resize(steps.size());
  std::vector<std::vector<std::uint32_t>> edges(steps.size());
  const auto depend = [&](std::size_t reader, std::int32_t writer) {
    if (writer == schedule::none) return;
    edges[static_cast<std::size_t>(writer)].push_back(static_cast<std::uint32_t>(reader));
    ++s.nodes[reader].waits;
  };
  const auto read = [&](std::size_t reader, buffer b, payload carries) {
    if (b < first_free_buffer) return schedule::none;
    const auto writer = static_cast<std::int32_t>(written.find(reader, b, carries));
    ++s.nodes[static_cast<std::size_t>(writer)].readers;
    depend(reader, writer);
    return writer;
  };
  const auto enqueue = [](std::vector<schedule::queue>& queues, int peer, std::size_t i) {
    auto found = std::find_if(queues.begin(), queues.end(), [&](const schedule::queue& q) { return q.peer == peer; });
    if (found == queues.end()) found = queues.insert(queues.end(), {.peer = peer});
    found->steps.push_back(static_cast<std::uint32_t>(i));
    return found;
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    schedule::node& n = s.nodes[i];
    const step& each = steps[i];
    s.transitions_travel = s.transitions_travel || each.carries == payload::transition;
    switch (each.what) {
      case operation::receive: enqueue(s.receives, each.peer, i); break;
      case operation::send: {
        n.in_from = read(i, each.in, each.carries);
        const auto q = enqueue(s.sends, each.peer, i);
        if (q->steps.size() > 1) depend(i, static_cast<std::int32_t>(q->steps[q->steps.size() - 2]));  // keeps the order
        break;
      }
      case operation::deliver:
        n.in_from = read(i, each.in, payload::state);
        if (n.in_from != schedule::none && steps[static_cast<std::size_t>(n.in_from)].units == each.units) {
          s.nodes[static_cast<std::size_t>(n.in_from)].delivered_by = static_cast<std::int32_t>(i);
        }
        break;
      case operation::fold:
        n.in_from = read(i, each.in, payload::state);
        n.summary_state_from = read(i, each.summary, payload::state);
        n.summary_transition_from = read(i, each.summary, payload::transition);
        // Sharing storage is safe because a write follows the carry it reads: without waiting for that it is not.
        n.may_skip_carry = n.in_from != schedule::none && each.summary == local_summary &&
                           std::count(s.source.storage.begin(), s.source.storage.end(), s.source.storage_of(each.out)) == 1;
        break;
    }
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    s.nodes[i].first_successor = static_cast<std::uint32_t>(s.successors.size());
    s.nodes[i].successors = static_cast<std::uint32_t>(edges[i].size());
    s.successors.insert(s.successors.end(), edges[i].begin(), edges[i].end());
  }
  return s;
}

}  // namespace allscan
