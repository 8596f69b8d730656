/// A state handed on from rank to rank, whole, each rank waiting for the one before it.
#pragma once

#include <allscan/collective/agreement.hpp>
#include <allscan/collective/scan_options.hpp>
#include <allscan/core/concepts.hpp>
#include <allscan/core/deadline.hpp>
#include <allscan/core/endpoint.hpp>
#include <allscan/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace allscan {

/// The serial pass of LASP-1: no summary, no fold, no pipelining. A rank receives the state of all tokens before its own, runs
/// the recurrence from it, and sends the state after them:
///
///   rank 0    compute ── state ─┐
///   rank 1                      └▶ compute ── state ─┐
///   rank 2                                           └▶ compute
///
/// The state crosses untouched, so a computation cut at any token equals the uncut one to the bit. Ranks take turns: time
/// grows with their number. A baseline and an oracle, where a scan needs every rank's summary before any carry is known.
///
/// Both directions; "predecessor" and "successor" are meant in the pass's direction. Every rank constructs its passes and plans
/// in one order and calls receive() and send() once a pass. The memory is the pass's own, allocated once: 2 x `elements`.
template <class T, class Communicator>
class serial_pass {
  static_assert(communicator<Communicator>, "a serial_pass takes a communicator: see allscan/core/concepts.hpp");

 public:
  /// @param timeout  how long receive() and send() each wait for their neighbour; 0 = for ever. receive() waits while the
  ///                 ranks before this one compute in turn, so allow for all of them.
  serial_pass(Communicator comm, std::size_t elements, direction d, seconds timeout)
      : link_{std::make_shared<link>(std::move(comm), elements)}, timeout_{timeout} {
    const int before = link_->comm.rank() - 1;
    const int after = link_->comm.rank() + 1 < link_->comm.size() ? link_->comm.rank() + 1 : -1;
    predecessor_ = d == direction::forward ? before : after;
    successor_ = d == direction::forward ? after : before;
  }

  [[nodiscard]] bool first() const { return predecessor_ < 0; }
  [[nodiscard]] bool last() const { return successor_ < 0; }

  /// Waits for the predecessor's state; on any rank but the first. The memory stays valid until the next receive().
  /// @throws timeout_error, transport_error: both poison the pass. poisoned_error: it was.
  [[nodiscard]] const T* receive() {
    link& l = *link_;
    guarded([&] {
      l.comm.receive(l.channel, predecessor_, reinterpret_cast<std::byte*>(l.incoming.data()), bytes(), l.received);
      wait(l.received, predecessor_, "receive the state from");
      const std::byte* arrived = l.comm.data(l.received);
      if (arrived != reinterpret_cast<const std::byte*>(l.incoming.data())) {
        std::memcpy(l.incoming.data(), arrived, bytes());
      }
      l.comm.release(l.received);
    });
    return l.incoming.data();
  }

  /// Where to write the state that send() hands on.
  [[nodiscard]] T* outgoing() { return link_->outgoing.data(); }

  /// Hands outgoing() on, and waits until the successor has taken it; on any rank but the last. Errors as receive().
  void send() {
    link& l = *link_;
    guarded([&] {
      l.comm.send(l.channel, successor_, reinterpret_cast<const std::byte*>(l.outgoing.data()), bytes(), l.sent);
      wait(l.sent, successor_, "hand the state to");
    });
    bytes_sent_ += bytes();
  }

  [[nodiscard]] std::uint64_t bytes_sent() const { return bytes_sent_; }
  [[nodiscard]] seconds waited() const { return waited_; }
  [[nodiscard]] std::size_t workspace_bytes() const { return 2 * bytes(); }

 private:
  /// Everything a late message may touch, kept together so that it can outlive a failed pass.
  struct link {
    link(Communicator c, std::size_t elements)
        : comm{std::move(c)}, channel{comm.endpoint().open_channel()}, incoming(elements), outgoing(elements) {}

    Communicator comm;
    std::uint32_t channel;
    typename Communicator::request received{};
    typename Communicator::request sent{};
    std::vector<T> incoming;
    std::vector<T> outgoing;
    bool poisoned = false;
  };

  [[nodiscard]] std::size_t bytes() const { return link_->incoming.size() * sizeof(T); }

  template <class Step>
  void guarded(Step step) {
    if (link_->poisoned) {
      throw poisoned_error("rank " + std::to_string(link_->comm.rank()) +
                           ": this serial pass failed before and its messages may still be in flight; make a new one");
    }
    try {
      step();
    } catch (...) {
      link_->poisoned = true;
      keep_until_exit(link_);
      throw;
    }
  }

  void wait(typename Communicator::request& request, int peer, const char* what) {
    const auto start = deadline::clock::now();
    const bool done = wait_for(link_->comm, request, deadline{timeout_});
    waited_ += deadline::clock::now() - start;
    if (done) return;
    (void)link_->comm.cancel(request);  // its memory is kept either way
    const int rank = link_->comm.rank();
    throw timeout_error("rank " + std::to_string(rank) + " waited " + std::to_string(timeout_.count()) +
                            " s in a serial pass to " + what + " rank " + std::to_string(peer) +
                            ": does that rank make the call, and is it alive? Ranks take turns: raise the timeout (options or "
                            "ALLSCAN_TIMEOUT) if its turn only takes longer",
                        rank, peer);
  }

  std::shared_ptr<link> link_;
  seconds timeout_;
  int predecessor_ = -1;
  int successor_ = -1;
  std::uint64_t bytes_sent_ = 0;
  seconds waited_{};
};

}  // namespace allscan
