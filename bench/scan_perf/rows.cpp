#include "rows.hpp"

#include "random.hpp"

#include <algorithm>
#include <type_traits>

namespace scan_perf {
namespace {

template <class T>
void add_scaled(std::size_t n, T a, const T* __restrict x, T* __restrict y) {
  for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
}

template <class T>
void scale_add(std::size_t n, T a, const T* __restrict x, T* __restrict y) {
  for (std::size_t i = 0; i < n; ++i) y[i] = a * y[i] + x[i];
}

/// out += matrix * in, with `columns` columns.
template <class T>
void add_product(std::size_t dim, std::size_t columns, const T* matrix, const T* in, T* out) {
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t j = 0; j < dim; ++j) add_scaled(columns, matrix[i * dim + j], in + j * columns, out + i * columns);
  }
}

/// upper += transition * lower, for the state of one row.
void add_carried(const row_layout& layout, const float* transition, const float* __restrict lower, float* __restrict upper) {
  const std::size_t n = layout.value_dim;
  switch (layout.kind) {
    case kind_name::none:
      for (std::size_t i = 0; i < n; ++i) upper[i] += lower[i];
      return;
    case kind_name::scalar:
    case kind_name::diagonal: return add_scaled(layout.state, transition[0], lower, upper);
    case kind_name::elementwise:
      for (std::size_t i = 0; i < n; ++i) upper[i] += transition[i] * lower[i];
      return;
    case kind_name::rotation:
      for (std::size_t i = 0; i < n; ++i) {
        upper[i] += transition[0] * lower[i] - transition[1] * lower[n + i];
        upper[n + i] += transition[1] * lower[i] + transition[0] * lower[n + i];
      }
      return;
    case kind_name::dense: return add_product(layout.key_dim, n, transition, lower, upper);
  }
}

/// upper = upper * lower, for the transition of one row.
void multiply(const row_layout& layout, const float* lower, float* upper) {
  switch (layout.kind) {
    case kind_name::none:
    case kind_name::scalar:
    case kind_name::diagonal:
    case kind_name::elementwise:
      for (std::size_t i = 0; i < layout.transition; ++i) upper[i] *= lower[i];
      return;
    case kind_name::rotation: {
      const float real = upper[0] * lower[0] - upper[1] * lower[1];
      upper[1] = upper[0] * lower[1] + upper[1] * lower[0];
      upper[0] = real;
      return;
    }
    case kind_name::dense: {
      buffer<float> product(layout.transition);
      add_product(layout.key_dim, layout.key_dim, upper, lower, product.data());
      std::copy(product.begin(), product.end(), upper);
      return;
    }
  }
}

/// Writes the exact transition numbers of one row.
template <class T>
void fill_transition(const row_layout& layout, random_numbers& random, T* transition) {
  if constexpr (std::is_same_v<T, std::uint32_t>) {
    for (std::size_t i = 0; i < layout.transition; ++i) transition[i] = random.bits32();
  } else {
    switch (layout.kind) {
      case kind_name::none: return;
      case kind_name::scalar:
      case kind_name::diagonal:
      case kind_name::elementwise:
        for (std::size_t i = 0; i < layout.transition; ++i) transition[i] = static_cast<float>(random.integer(-1, 1));
        return;
      case kind_name::rotation: {
        const int turns = random.integer(0, 3);
        transition[0] = turns == 0 ? 1.0F : turns == 2 ? -1.0F : 0.0F;
        transition[1] = turns == 1 ? 1.0F : turns == 3 ? -1.0F : 0.0F;
        return;
      }
      case kind_name::dense: {
        const std::size_t dim = layout.key_dim;
        const auto shift = static_cast<std::size_t>(random.integer(0, static_cast<int>(dim) - 1));
        std::fill_n(transition, layout.transition, 0.0F);
        for (std::size_t i = 0; i < dim; ++i)
          transition[i * dim + (i + shift) % dim] = random.integer(0, 1) == 0 ? -1.0F : 1.0F;
        return;
      }
    }
  }
}

}  // namespace

row_layout layout_of(kind_name kind, const allscan::state_shape& shape) {
  const std::size_t heads = shape.matrices();
  const std::size_t key = shape.key_dim;
  const std::size_t value = shape.value_dim;
  row_layout layout{.kind = kind, .rows = heads * key, .transition = 1, .state = value, .key_dim = key, .value_dim = value};
  switch (kind) {
    case kind_name::none: layout.transition = 0; break;
    case kind_name::scalar:
      layout.rows = heads;
      layout.state = key * value;
      break;
    case kind_name::diagonal: break;
    case kind_name::elementwise: layout.transition = value; break;
    case kind_name::rotation:
      layout.rows = heads * (key / 2);
      layout.transition = 2;
      layout.state = 2 * value;
      break;
    case kind_name::dense:
      layout.rows = heads;
      layout.transition = key * key;
      layout.state = key * value;
      break;
  }
  return layout;
}

template <class T>
summary<T> exact_summary(const row_layout& layout, int position) {
  random_numbers random{static_cast<std::uint64_t>(position)};
  summary<T> result{buffer<T>(layout.rows * layout.transition), buffer<T>(layout.rows * layout.state)};
  for (std::size_t row = 0; row < layout.rows; ++row) {
    fill_transition(layout, random, result.transition.data() + row * layout.transition);
  }
  for (T& each : result.state) {
    if constexpr (std::is_same_v<T, std::uint32_t>) {
      each = random.bits32();
    } else {
      each = static_cast<T>(random.integer(-8, 8));
    }
  }
  return result;
}

template <class T>
void advance(const row_layout& layout, const T* transition, const T* __restrict local, T* __restrict state) {
  const std::size_t n = layout.value_dim;
  switch (layout.kind) {
    case kind_name::none:
      for (std::size_t i = 0; i < n; ++i) state[i] += local[i];
      return;
    case kind_name::scalar:
    case kind_name::diagonal: return scale_add(layout.state, transition[0], local, state);
    case kind_name::elementwise:
      for (std::size_t i = 0; i < n; ++i) state[i] = transition[i] * state[i] + local[i];
      return;
    case kind_name::rotation:
      for (std::size_t i = 0; i < n; ++i) {
        const T first = transition[0] * state[i] - transition[1] * state[n + i] + local[i];
        state[n + i] = transition[1] * state[i] + transition[0] * state[n + i] + local[n + i];
        state[i] = first;
      }
      return;
    case kind_name::dense: {
      buffer<T> next(local, local + layout.state);
      add_product(layout.key_dim, n, transition, state, next.data());
      std::copy(next.begin(), next.end(), state);
      return;
    }
  }
}

void compose(const row_layout& layout, const float* lower, float* upper) {
  add_carried(layout, upper, lower + layout.transition, upper + layout.transition);
  multiply(layout, lower, upper);
}

template <class T>
buffer<T> exact_prefix(const row_layout& layout, int count) {
  buffer<T> state = exact_summary<T>(layout, 0).state;
  for (int position = 1; position < count; ++position) {
    const summary<T> next = exact_summary<T>(layout, position);
    for (std::size_t row = 0; row < layout.rows; ++row) {
      advance(layout, next.transition.data() + row * layout.transition, next.state.data() + row * layout.state,
              state.data() + row * layout.state);
    }
  }
  return state;
}

template summary<float> exact_summary(const row_layout&, int);
template summary<std::uint32_t> exact_summary(const row_layout&, int);
template void advance(const row_layout&, const float*, const float*, float*);
template void advance(const row_layout&, const std::uint32_t*, const std::uint32_t*, std::uint32_t*);
template buffer<float> exact_prefix(const row_layout&, int);
template buffer<std::uint32_t> exact_prefix(const row_layout&, int);

}  // namespace scan_perf
