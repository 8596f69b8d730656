/// All ranks agree on the values they construct something with, or all throw the same exception.
#pragma once

#include <allscan/core/concepts.hpp>
#include <allscan/core/deadline.hpp>
#include <allscan/core/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allscan {

/// What one rank brings to an agreement, as text: an error of its own, or named values that must be equal on every rank.
class proposal {
 public:
  static constexpr std::size_t capacity = 2048;
  using packet = std::array<char, capacity>;  // zero-terminated lines

  /// A long value is compared whole, but shown by its beginning.
  void add(std::string_view name, std::string_view value) {
    constexpr std::size_t longest = 512;
    std::string shown{value.substr(0, longest)};
    if (value.size() > longest)
      shown += "... (" + std::to_string(value.size()) + " characters, hash " + std::to_string(hash(value)) + ")";
    lines_ += std::string{name} + " = " + shown + "\n";
  }
  void add(std::string_view name, std::size_t value) { add(name, std::to_string(value)); }
  /// This rank cannot take part: the first rank that says so is quoted on all ranks.
  void fail(std::string_view message) { error_ = message; }

  [[nodiscard]] packet pack() const {
    const std::string text = error_.empty() ? lines_ : "! " + error_;
    packet p{};
    std::memcpy(p.data(), text.data(), std::min(text.size(), capacity - 1));
    return p;
  }

  /// The sentence all ranks throw, or an empty string if all agree. `packets` are in rank order.
  [[nodiscard]] static std::string disagreement(const std::vector<packet>& packets) {
    for (std::size_t r = 0; r < packets.size(); ++r) {
      const std::string_view text{packets[r].data()};
      if (text.starts_with("! ")) return "rank " + std::to_string(r) + ": " + std::string{text.substr(2)};
    }
    for (std::size_t r = 1; r < packets.size(); ++r) {
      std::string_view first{packets[0].data()};
      std::string_view other{packets[r].data()};
      if (first == other) continue;
      while (!first.empty() && next_line(first) == next_line(other)) {
        first.remove_prefix(next_line(first).size());
        other.remove_prefix(next_line(other).size());
      }
      return "the ranks disagree: rank 0 has " + trimmed(first) + " and rank " + std::to_string(r) + " has " + trimmed(other) +
             ": pass the same on every rank, and construct plans in the same order everywhere";
    }
    return {};
  }

 private:
  /// FNV-1a, alike on every machine.
  static std::uint64_t hash(std::string_view text) {
    std::uint64_t h = 14695981039346656037ULL;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    return h;
  }
  static std::string_view next_line(std::string_view text) {
    return text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
  }
  static std::string trimmed(std::string_view text) {
    return text.empty() ? "nothing more" : std::string{text.substr(0, text.find('\n'))};
  }

  std::string lines_;
  std::string error_;
};

/// Waits until `request` is done, driving the rank's live operations meanwhile.
/// @returns false if the deadline passed first.
template <class Communicator>
[[nodiscard]] bool wait_for(Communicator& comm, typename Communicator::request& request, const deadline& until) {
  backoff idle;
  while (!comm.test(request)) {
    comm.endpoint().progress();
    if (until.expired()) return comm.test(request);
    idle.pause();
  }
  return true;
}

/// Collective: every rank calls it with its proposal, in the same order as its other agreements on this communicator.
/// Cost: ceil(log2 P) rounds of small messages (Bruck's all-gather).
/// @throws invalid_argument, the same on every rank, if a rank failed or two differ.
/// @throws timeout_error if a rank does not come before the deadline; the communicator is then poisoned, for the control
///         channel carries messages that nobody will match.
/// @throws poisoned_error if that happened before.
template <class Communicator>
void agree(Communicator& comm, const proposal& mine, seconds timeout) {
  const auto size = static_cast<std::size_t>(comm.size());
  const auto rank = static_cast<std::size_t>(comm.rank());
  if (comm.endpoint().poisoned()) {
    throw poisoned_error("rank " + std::to_string(rank) +
                         ": an earlier agreement on this communicator did not finish; make a new communicator from a fresh "
                         "duplicate of yours");
  }
  struct exchange {
    std::vector<proposal::packet> packets;  // of ranks rank, rank + 1, ... (mod size)
    typename Communicator::request send;
    typename Communicator::request receive;
  };
  auto memory = std::make_shared<exchange>();
  memory->packets.resize(size);
  memory->packets[0] = mine.pack();
  const deadline until{timeout};
  constexpr auto channel = endpoint::control_channel;
  const auto silent = [&](std::size_t peer, const char* what) {
    return timeout_error("rank " + std::to_string(rank) + ": rank " + std::to_string(peer) + what + " within " +
                             to_string(timeout) +
                             " while the ranks agreed on a construction: does every rank construct it, and is rank " +
                             std::to_string(peer) + " alive? Raise the timeout (options or ALLSCAN_TIMEOUT) if it is only late",
                         comm.rank(), static_cast<int>(peer));
  };
  try {
    for (std::size_t held = 1; held < size; held *= 2) {
      const std::size_t count = std::min(held, size - held);
      const std::size_t to = (rank + size - held) % size;
      const std::size_t from = (rank + held) % size;
      const std::size_t bytes = count * sizeof(proposal::packet);
      auto* const own = reinterpret_cast<std::byte*>(memory->packets[0].data());
      auto* const next = reinterpret_cast<std::byte*>(memory->packets[held].data());
      comm.receive(channel, static_cast<int>(from), next, bytes, memory->receive);
      comm.send(channel, static_cast<int>(to), own, bytes, memory->send);
      if (!wait_for(comm, memory->receive, until)) throw silent(from, " sent nothing");
      const std::byte* arrived = comm.data(memory->receive);
      if (arrived != next) std::memcpy(next, arrived, bytes);
      comm.release(memory->receive);
      if (!wait_for(comm, memory->send, until)) throw silent(to, " took nothing");
    }
  } catch (...) {
    comm.endpoint().poison();
    // Both requests are cancelled; what a late message may still touch stays.
    const bool send_cancelled = comm.cancel(memory->send);
    const bool receive_cancelled = comm.cancel(memory->receive);
    if (!send_cancelled || !receive_cancelled) keep_until_exit(memory);
    throw;
  }
  std::rotate(memory->packets.begin(), memory->packets.begin() + static_cast<std::ptrdiff_t>((size - rank) % size),
              memory->packets.end());
  const std::string problem = proposal::disagreement(memory->packets);
  if (!problem.empty()) throw invalid_argument(problem);
}

}  // namespace allscan
