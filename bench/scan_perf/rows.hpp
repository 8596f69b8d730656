/// Summaries as rows, in plain loops that share nothing with the library: the baselines' operator, and what results are
/// checked against. A row is the smallest piece of a state with transition numbers of its own:
///
///   kind         row                  transition numbers of a row        state numbers of a row
///   none         key dimension        -                                  value_dim
///   scalar       head                 decay                              key_dim * value_dim
///   diagonal     key dimension        decay                              value_dim
///   elementwise  key dimension        value_dim decays                   value_dim
///   rotation     two key dimensions   cos, sin                           2 * value_dim
///   dense        head                 key_dim * key_dim matrix           key_dim * value_dim
///
/// Transitions are linear here, not logarithms: multiplied as they are, over float or over uint32 modulo 2^32.
#pragma once

#include "buffer.hpp"
#include "options.hpp"

#include <allscan/core/shape.hpp>

#include <cstddef>
#include <cstdint>

namespace scan_perf {

struct row_layout {
  kind_name kind = kind_name::diagonal;
  std::size_t rows = 0;
  std::size_t transition = 0;  // numbers of one row
  std::size_t state = 0;
  std::size_t key_dim = 0;
  std::size_t value_dim = 0;
};

[[nodiscard]] row_layout layout_of(kind_name kind, const allscan::state_shape& shape);

/// What one position (rank in the scan's direction) contributes. Both arrays row after row, which is the tensor order too.
template <class T>
struct summary {
  buffer<T> transition;
  buffer<T> state;
};

/// Summaries on which the sums and products of any order are exact, and where the order matters nevertheless.
/// uint32: arbitrary numbers. float: states are small integers; factors are 0, 1 and -1, quarter turns, signed permutations.
template <class T>
[[nodiscard]] summary<T> exact_summary(const row_layout& layout, int position);

/// state = transition * state + local, for one row.
template <class T>
void advance(const row_layout& layout, const T* transition, const T* local, T* state);

/// upper = upper after lower, for one row [transition numbers | state numbers] of each.
void compose(const row_layout& layout, const float* lower, float* upper);

/// The state that position `count` - 1 hands on: summaries 0 .. count - 1, folded left to right. count >= 1.
template <class T>
[[nodiscard]] buffer<T> exact_prefix(const row_layout& layout, int count);

}  // namespace scan_perf
