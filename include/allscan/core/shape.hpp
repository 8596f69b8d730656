/// Shapes of states and of token tensors. All tensors are row-major and dense.
#pragma once

#include <allscan/core/config.hpp>
#include <allscan/core/error.hpp>

#include <cstddef>
#include <limits>
#include <string>

namespace allscan {

/// A recurrent state [batch, heads, key_dim, value_dim]: row = key dimension, column = value dimension.
/// A vector state (HGRN) is {.heads = D, .key_dim = 1, .value_dim = 1}.
struct state_shape {
  std::size_t batch = 1;
  std::size_t heads = 1;
  std::size_t key_dim = 1;
  std::size_t value_dim = 1;

  [[nodiscard]] ALLSCAN_HOST_DEVICE constexpr std::size_t matrices() const { return batch * heads; }
  [[nodiscard]] ALLSCAN_HOST_DEVICE constexpr std::size_t rows() const { return matrices() * key_dim; }
  [[nodiscard]] ALLSCAN_HOST_DEVICE constexpr std::size_t elements() const { return rows() * value_dim; }
  friend constexpr bool operator==(const state_shape&, const state_shape&) = default;
};

/// The tokens one rank holds. q, k: [batch, tokens, heads, key_dim]; v, o: [batch, tokens, heads, value_dim]; a gate is
/// [batch, tokens, heads] (scalar) or [batch, tokens, heads, key_dim] (diagonal). `tokens` may differ between ranks.
struct token_shape {
  std::size_t batch = 1;
  std::size_t tokens = 0;
  std::size_t heads = 1;
  std::size_t key_dim = 1;
  std::size_t value_dim = 1;

  [[nodiscard]] constexpr state_shape state() const {
    return {.batch = batch, .heads = heads, .key_dim = key_dim, .value_dim = value_dim};
  }
  [[nodiscard]] constexpr std::size_t rows() const { return batch * tokens * heads; }
  [[nodiscard]] constexpr std::size_t key_elements() const { return rows() * key_dim; }
  [[nodiscard]] constexpr std::size_t value_elements() const { return rows() * value_dim; }
  friend constexpr bool operator==(const token_shape&, const token_shape&) = default;
};

/// Units [begin, end) of a state: what one pipeline step forwards. A unit is the kind's: an element, a row pair, a column.
struct unit_range {
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] ALLSCAN_HOST_DEVICE constexpr std::size_t size() const { return end - begin; }
  [[nodiscard]] ALLSCAN_HOST_DEVICE constexpr bool empty() const { return begin == end; }
  friend constexpr bool operator==(const unit_range&, const unit_range&) = default;
};

/// Part `index` of `parts` of [0, items): sizes differ by at most one, empty where there are more parts than items.
/// Written without items * index, which overflows for large tensors.
[[nodiscard]] constexpr unit_range even_part(std::size_t items, std::size_t parts, std::size_t index) {
  const std::size_t size = items / parts;
  const std::size_t longer = items % parts;  // the first `longer` parts hold one more
  const std::size_t begin = index * size + (index < longer ? index : longer);
  return {begin, begin + size + (index < longer ? 1 : 0)};
}

/// a * b. @throws invalid_argument if the product, counted in bytes of up to 16 an element, leaves the address space.
[[nodiscard]] inline std::size_t checked_product(std::size_t a, std::size_t b) {
  if (b != 0 && a > std::numeric_limits<std::size_t>::max() / 32 / b) {
    throw invalid_argument("a shape of " + std::to_string(a) + " x " + std::to_string(b) +
                           " elements does not fit in memory: was a negative number passed as a dimension?");
  }
  return a * b;
}

/// @throws invalid_argument if the shape's element count overflows. A dimension of 0 is legal: an empty state.
inline void validate(const state_shape& s) {
  (void)checked_product(checked_product(checked_product(s.batch, s.heads), s.key_dim), s.value_dim);
  (void)checked_product(checked_product(checked_product(s.batch, s.heads), s.key_dim), s.key_dim);  // a dense transition
}

[[nodiscard]] inline std::string to_string(const state_shape& s) {
  return "[" + std::to_string(s.batch) + ", " + std::to_string(s.heads) + ", " + std::to_string(s.key_dim) + ", " +
         std::to_string(s.value_dim) + "]";
}

}  // namespace allscan
