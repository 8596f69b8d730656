/// What the library throws. Every message names the rank, the peer where there is one, what happened and how to mend it.
#pragma once

#include <stdexcept>
#include <string>

namespace allscan {

/// Base of everything the library throws on purpose.
class error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An argument is unusable, or the ranks disagree on one. Thrown before any data moves; the object called stays usable.
class invalid_argument : public error {
  using error::error;
};

/// A peer stayed silent past the deadline. The plan (or communicator) that threw it is poisoned.
class timeout_error : public error {
 public:
  /// @param peer  the rank waited for. @param block  the pipeline block, or -1. @param step  the program step, or -1.
  timeout_error(const std::string& what, int rank, int peer, long block = -1, long step = -1)
      : error(what), rank_{rank}, peer_{peer}, block_{block}, step_{step} {}

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int peer() const noexcept { return peer_; }
  [[nodiscard]] long block() const noexcept { return block_; }
  [[nodiscard]] long step() const noexcept { return step_; }

 private:
  int rank_;
  int peer_;
  long block_;
  long step_;
};

/// A native call of a transport failed.
class transport_error : public error {
 public:
  /// @param code  the native error code, whose text `what` holds. @param peer  -1 where the call has none.
  transport_error(const std::string& what, int code, int rank, int peer = -1)
      : error(what), code_{code}, rank_{rank}, peer_{peer} {}

  [[nodiscard]] int code() const noexcept { return code_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int peer() const noexcept { return peer_; }

 private:
  int code_;
  int rank_;
  int peer_;
};

/// The object failed before, or shares memory with one that did: its messages may still be in flight. Make a new one.
class poisoned_error : public error {
  using error::error;
};

}  // namespace allscan
