/// A summary's transition in memory, and its wire form.
#pragma once

#include <allscan/combiner/block.hpp>
#include <allscan/combiner/concepts.hpp>
#include <allscan/core/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace allscan {

/// The transition numbers of one summary, read in place. Which arrays are there is the kind's:
/// scalar [batch, heads] · diagonal [batch, heads, key_dim] · elementwise as the state · rotation [batch, heads, key_dim / 2] ·
/// dense [batch, heads, key_dim, key_dim], and log_decay [batch, heads] or null. A custom combiner's are in `transition`.
template <class C>
struct transition_view {
  using scalar = scalar_of<C>;

  const scalar* log_decay = nullptr;
  const scalar* angle = nullptr;
  const transition_of<C>* transition = nullptr;
  const std::uint8_t* reset = nullptr;  ///< [batch], non-zero: nothing of the carry passes; null: no batch row resets
  std::size_t first = 0;                ///< the transition that the arrays begin with
  std::size_t first_batch = 0;          ///< the batch row that `reset` begins with

  /// Transition i of the whole tensor. Of a dense combiner in log space, its log decay.
  [[nodiscard]] constexpr auto number(std::size_t i) const {
    if constexpr (std::same_as<kind_of<C>, kind::none>) {
      return no_transition{};
    } else if constexpr (!is_log_space<C>) {
      return transition[i - first];
    } else if constexpr (std::same_as<kind_of<C>, kind::rotation>) {
      return polar<scalar>{log_decay[i - first], angle[i - first]};
    } else if constexpr (std::same_as<kind_of<C>, kind::dense>) {
      return log_decay == nullptr ? scalar{0} : log_decay[i - first];
    } else {
      return log_decay[i - first];
    }
  }
  /// The matrix of head i, row-major.
  [[nodiscard]] constexpr const transition_of<C>* matrix(std::size_t i, std::size_t key_dim) const {
    return transition + (i - first) * key_dim * key_dim;
  }
  [[nodiscard]] constexpr bool flagged(std::size_t batch) const { return reset != nullptr && reset[batch - first_batch] != 0; }
};

/// As transition_view, to be written: transitions from 0 on, a reset flag for every batch row.
template <class C>
struct transition_buffer {
  scalar_of<C>* log_decay = nullptr;
  scalar_of<C>* angle = nullptr;
  transition_of<C>* transition = nullptr;
  std::uint8_t* reset = nullptr;

  /// Of a dense combiner in log space, `number` is the log decay.
  constexpr void put(std::size_t i, const transition_of<C>& number) const {
    static_assert(!std::same_as<kind_of<C>, kind::none>, "kind none has no transition numbers");
    if constexpr (!is_log_space<C>) {
      transition[i] = number;
    } else if constexpr (std::same_as<kind_of<C>, kind::rotation>) {
      log_decay[i] = number.log_decay;
      angle[i] = number.angle;
    } else {
      log_decay[i] = number;
    }
  }
};

namespace detail {

/// Batch rows touched by a range of units.
template <class Kind>
[[nodiscard]] constexpr unit_range batches_of(const state_shape& shape, const unit_range& range) {
  return range.empty() ? unit_range{} : touched(range, Kind::units(shape) / shape.batch);
}

/// Byte offsets of the wire form's arrays. Each begins at a multiple of 16.
struct wire_layout {
  std::size_t angle = 0;
  std::size_t transition = 0;
  std::size_t reset = 0;
  std::size_t bytes = 0;
  std::size_t numbers = 0;  ///< entries of log_decay and of angle
  std::size_t entries = 0;  ///< entries of `transition`
};

template <class C>
[[nodiscard]] constexpr wire_layout layout_of(const state_shape& shape, const unit_range& range) {
  using Kind = kind_of<C>;
  constexpr auto aligned = [](std::size_t bytes) { return (bytes + 15) / 16 * 16; };
  constexpr bool dense = std::same_as<Kind, kind::dense>;
  const std::size_t count = Kind::transitions_of(shape, range).size();
  wire_layout l;
  l.numbers = is_log_space<C> ? count : 0;
  l.entries = dense ? count * shape.key_dim * shape.key_dim : (is_log_space<C> ? 0 : count);
  l.angle = aligned(l.numbers * sizeof(scalar_of<C>));
  l.transition = l.angle;
  if (is_log_space<C> && std::same_as<Kind, kind::rotation>) l.transition += aligned(l.numbers * sizeof(scalar_of<C>));
  l.reset = l.transition + aligned(l.entries * sizeof(transition_of<C>));
  l.bytes = l.reset + aligned(batches_of<Kind>(shape, range).size());
  return l;
}

template <class T>
void put_bytes(const T* from, std::size_t first, std::size_t n, std::byte* to) {
  if (n == 0) return;
  if (from == nullptr) {
    std::memset(to, 0, n * sizeof(T));
  } else {
    std::memcpy(to, from + first, n * sizeof(T));
  }
}

}  // namespace detail

/// Bytes of the wire form of the transitions that a range of units needs, reset flags included; a multiple of 16.
template <class C>
[[nodiscard]] constexpr std::size_t transition_bytes(const state_shape& shape, const unit_range& range) {
  return detail::layout_of<C>(shape, range).bytes;
}

/// Writes the wire form, transition_bytes() long. An operand left out is written as what it stands for: 0 in log space, no
/// reset.
template <class C>
void pack_transition(const state_shape& shape, const unit_range& range, const transition_view<C>& t, std::byte* to) {
  const detail::wire_layout l = detail::layout_of<C>(shape, range);
  const unit_range needed = kind_of<C>::transitions_of(shape, range);
  const unit_range batches = detail::batches_of<kind_of<C>>(shape, range);
  const std::size_t skip = needed.empty() ? 0 : needed.begin - t.first;
  detail::put_bytes(t.log_decay, skip, l.numbers, to);
  if constexpr (is_log_space<C> && std::same_as<kind_of<C>, kind::rotation>) {
    detail::put_bytes(t.angle, skip, l.numbers, to + l.angle);
  }
  constexpr bool dense = std::same_as<kind_of<C>, kind::dense>;
  detail::put_bytes(t.transition, dense ? skip * shape.key_dim * shape.key_dim : skip, l.entries, to + l.transition);
  detail::put_bytes(t.reset, batches.empty() ? 0 : batches.begin - t.first_batch, batches.size(), to + l.reset);
}

/// Reads the wire form in place. @param from  aligned to 16 bytes; must outlive the view.
template <class C>
[[nodiscard]] transition_view<C> view_transition(const state_shape& shape, const unit_range& range, const std::byte* from) {
  const detail::wire_layout l = detail::layout_of<C>(shape, range);
  transition_view<C> t;
  if constexpr (is_log_space<C>) {
    t.log_decay = reinterpret_cast<const scalar_of<C>*>(from);
    if constexpr (std::same_as<kind_of<C>, kind::rotation>) {
      t.angle = reinterpret_cast<const scalar_of<C>*>(from + l.angle);
    }
  }
  if constexpr (!is_log_space<C> || std::same_as<kind_of<C>, kind::dense>) {
    t.transition = reinterpret_cast<const transition_of<C>*>(from + l.transition);
  }
  t.reset = reinterpret_cast<const std::uint8_t*>(from + l.reset);
  t.first = kind_of<C>::transitions_of(shape, range).begin;
  t.first_batch = detail::batches_of<kind_of<C>>(shape, range).begin;
  return t;
}

}  // namespace allscan
