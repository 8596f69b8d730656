/// Where the buffers of a program lie in memory, and the steps that touch only memory.
///
/// A message or fold whose output is a result is put straight into the caller's memory, and the local state is read and sent
/// straight from there. Storage is used for what is not delivered, for dense blocks that are no run of whole heads (they travel
/// packed), and for copies of operands that a result overwrites.
#pragma once

#include <allscan/collective/schedule.hpp>
#include <allscan/combiner/block.hpp>
#include <allscan/combiner/concepts.hpp>
#include <allscan/combiner/kinds.hpp>
#include <allscan/combiner/transition.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace allscan {

/// The raw operands and results of one scan on one rank. Null where not given.
template <class Combiner>
struct scan_call {
  using scalar = typename Combiner::scalar;
  const scalar* state = nullptr;
  transition_view<Combiner> transition = {};
  const scalar* initial = nullptr;
  scalar* carry = nullptr;
  scalar* outgoing = nullptr;
  bool overwrites_state = false;    ///< a result lies exactly on the state
  bool overwrites_initial = false;  ///< a result lies exactly on the initial carry
};

template <class Combiner>
class placement {
 public:
  using scalar = typename Combiner::scalar;
  using kind = typename Combiner::kind;

  explicit placement(const state_shape& shape) : shape_{shape} {}

  /// Makes room for one more schedule.
  void prepare(const schedule& s) {
    written_.resize(std::max(written_.size(), s.nodes.size()));
    bytes_ = std::max(bytes_, layout_of(s).end);
  }
  /// What begin() needs as workspace, in bytes.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  /// Binds a scan's operands. `workspace` holds bytes(), aligned to 64.
  void begin(const schedule& s, const scan_call<Combiner>& call, std::byte* workspace) {
    schedule_ = &s;
    call_ = call;
    layout_ = layout_of(s);
    workspace_ = workspace;
    const std::size_t state_bytes = shape_.elements() * sizeof(scalar);
    if (call.overwrites_state) call_.state = saved(layout_.state, call.state, state_bytes);
    if (call.overwrites_initial) call_.initial = saved(layout_.initial, call.initial, state_bytes);
    if (s.transitions_travel) pack_transition<Combiner>(shape_, all_units(), call.transition, workspace_ + layout_.transition);
  }

  [[nodiscard]] const transition_view<Combiner>& local_transition() const { return call_.transition; }

  /// Where the message of receive step `i` is to be put.
  [[nodiscard]] std::span<std::byte> receive_buffer(std::size_t i) const {
    const step& s = step_at(i);
    if (s.carries == payload::transition) {
      return {storage(s.out) + layout_.state_bytes, transition_bytes<Combiner>(shape_, all_units())};
    }
    return {reinterpret_cast<std::byte*>(target(i)), state_bytes(s.units)};
  }

  /// The message of receive step `i` is at `data`: where it was to be put, or in the peer's memory.
  void received(std::size_t i, const std::byte* data) { written_[i] = data; }

  /// The message of send step `i`, contiguous; stays as it is while the scan runs.
  [[nodiscard]] std::span<const std::byte> send_buffer(std::size_t i) {
    const step& s = step_at(i);
    const schedule::node& n = schedule_->nodes[i];
    if (s.carries == payload::transition) {
      const std::byte* from = n.in_from == schedule::none ? workspace_ + layout_.transition : written_[at(n.in_from)];
      return {from, transition_bytes<Combiner>(shape_, all_units())};
    }
    block_view<const scalar> from = read(s.in, n.in_from, s.units);
    if (!from.packed && kind::packs(shape_, s.units)) {
      scalar* packed = reinterpret_cast<scalar*>(workspace_ + layout_.packed) + first_element(s.units);
      kind::copy(shape_, s.units, from, block_view<scalar>{packed, true});
      from = {packed, true};
    }
    const scalar* data = from.packed ? from.data : from.data + first_element(s.units);
    return {reinterpret_cast<const std::byte*>(data), state_bytes(s.units)};
  }

  /// @param carry_free  all units reset, so the local state is the result and the carry need not be there.
  void fold(const Combiner& combiner, std::size_t i, bool carry_free) {
    const step& s = step_at(i);
    const schedule::node& n = schedule_->nodes[i];
    const block_view<const scalar> summary = read(s.summary, n.summary_state_from, s.units);
    scalar* to = target(i);
    written_[i] = reinterpret_cast<const std::byte*>(to);
    const block_view<scalar> out{to, true};
    if (carry_free) {
      kind::copy(shape_, s.units, summary, out);
      return;
    }
    const transition_view<Combiner> transition =
        s.summary == local_summary ? call_.transition
                                   : view_transition<Combiner>(shape_, all_units(), written_[at(n.summary_transition_from)]);
    kind::fold(combiner, shape_, s.units, transition, read(s.in, n.in_from, s.units), summary, out);
  }

  /// What delivery `i` delivers has been put into the result at once.
  [[nodiscard]] bool lies_in_place(std::size_t i) const {
    const step& s = step_at(i);
    if (s.in == identity_state) return false;
    const block_view<const scalar> from = read(s.in, schedule_->nodes[i].in_from, s.units);
    const scalar* to = result_of(s.to);
    return from.packed ? !kind::packs(shape_, s.units) && from.data == to + first_element(s.units) : from.data == to;
  }

  /// How many units of a delivery are a good piece of work between two looks at the messages.
  [[nodiscard]] std::size_t units_a_piece(unit_range units) const {
    constexpr std::size_t bytes = 65536;
    if (kind::unit == unit_form::column) return units.size();  // part of a packed block of columns is no packed block
    return std::max<std::size_t>(1, bytes / std::max<std::size_t>(1, kind::unit_elements(shape_) * sizeof(scalar)));
  }

  /// Copies `piece` of what delivery `i` delivers into the result.
  void deliver(const Combiner& combiner, std::size_t i, unit_range piece) {
    const step& s = step_at(i);
    const block_view<scalar> to{result_of(s.to), false};
    if (s.in == identity_state) {
      kind::fill(shape_, piece, identity(combiner), to);
    } else {
      kind::copy(shape_, piece, read(s.in, schedule_->nodes[i].in_from, piece), to);
    }
  }

 private:
  /// Offsets into the workspace, in bytes. Parts that a schedule cannot need have no room.
  struct layout {
    std::size_t state_bytes = 0;  ///< of one storage: a state, then a transition where they travel
    std::size_t storage_bytes = 0;
    std::size_t state = 0;       ///< copy of an overwritten local state
    std::size_t initial = 0;     ///< copy of an overwritten initial carry
    std::size_t packed = 0;      ///< packed blocks of the local state or initial carry
    std::size_t transition = 0;  ///< the local transition in wire form
    std::size_t end = 0;
  };

  static std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] unit_range all_units() const { return {0, kind::units(shape_)}; }
  [[nodiscard]] std::size_t first_element(unit_range r) const { return r.begin * kind::unit_elements(shape_); }
  [[nodiscard]] std::size_t state_bytes(unit_range r) const { return r.size() * kind::unit_elements(shape_) * sizeof(scalar); }
  [[nodiscard]] const step& step_at(std::size_t i) const { return schedule_->source.steps[i]; }
  [[nodiscard]] scalar* result_of(result r) const { return r == result::carry ? call_.carry : call_.outgoing; }
  [[nodiscard]] std::byte* storage(buffer b) const {
    return workspace_ + static_cast<std::size_t>(schedule_->source.storage_of(b)) * layout_.storage_bytes;
  }

  [[nodiscard]] layout layout_of(const schedule& s) const {
    layout l;
    const std::size_t transition = s.transitions_travel ? rounded(transition_bytes<Combiner>(shape_, all_units())) : 0;
    l.state_bytes = rounded(shape_.elements() * sizeof(scalar));
    l.storage_bytes = l.state_bytes + transition;
    l.state = static_cast<std::size_t>(s.source.storages()) * l.storage_bytes;
    l.initial = l.state + l.state_bytes;
    l.packed = l.initial + (s.source.position == 0 ? l.state_bytes : 0);
    const bool packs = std::any_of(s.source.steps.begin(), s.source.steps.end(), [&](const step& each) {
      return each.what == operation::send && each.carries == payload::state && each.in < first_free_buffer &&
             kind::packs(shape_, each.units);
    });
    l.transition = l.packed + (packs ? l.state_bytes : 0);
    l.end = l.transition + transition;
    return l;
  }

  [[nodiscard]] const scalar* saved(std::size_t offset, const scalar* from, std::size_t bytes) const {
    if (bytes != 0) std::memcpy(workspace_ + offset, from, bytes);
    return reinterpret_cast<const scalar*>(workspace_ + offset);
  }

  /// What step `from` (none: the caller's operand) has written to `b`, at `units`.
  [[nodiscard]] block_view<const scalar> read(buffer b, std::int32_t from, unit_range units) const {
    if (b == local_summary) return {call_.state, false};
    if (b == initial_carry) return {call_.initial, false};
    const std::size_t skipped = (units.begin - step_at(at(from)).units.begin) * kind::unit_elements(shape_);
    return {reinterpret_cast<const scalar*>(written_[at(from)]) + skipped, true};
  }

  /// Where step `i` puts its units, one after the other.
  [[nodiscard]] scalar* target(std::size_t i) const {
    const step& s = step_at(i);
    const std::int32_t delivery = schedule_->nodes[i].delivered_by;
    scalar* base = delivery != schedule::none && !kind::packs(shape_, s.units) ? result_of(step_at(at(delivery)).to)
                                                                               : reinterpret_cast<scalar*>(storage(s.out));
    return base + first_element(s.units);
  }

  state_shape shape_;
  std::size_t bytes_ = 0;
  std::vector<const std::byte*> written_;  // of each step that writes: where its units are
  const schedule* schedule_ = nullptr;
  scan_call<Combiner> call_;
  layout layout_;
  std::byte* workspace_ = nullptr;
};

}  // namespace allscan
