/// Inputs for the law checks: generated summaries and carries.
#pragma once

#include <allscan/combiner/host.hpp>
#include <allscan/combiner/kinds.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <type_traits>
#include <vector>

namespace allscan {

/// Inputs of test_combiner_laws(). All have defaults.
template <class C>
struct law_options {
  state_shape shape = {.batch = 2, .heads = 3, .key_dim = 4, .value_dim = 5};
  std::uint64_t seed = 1;
  /// How far the two sides of a law may differ in floating point: in units in the last place of the largest element.
  double tolerance = 256;
  /// A state element. Default: floats in [-1, 1), integers of any bits.
  std::function<scalar_of<C>(std::mt19937_64&)> state = {};
  /// A transition number that the combiner means to be used with. Default: log decays in (-3, 0], some 0, and angles; of a
  /// custom combiner floats in (-1, 0] if it prepares them, as logs, else in [0, 1); integers of any bits. Other types need it.
  std::function<transition_of<C>(std::mt19937_64&)> transition = {};
  /// A number for which is_reset() is true. Default: -inf or 0, if one of them is.
  std::optional<transition_of<C>> reset = {};
};

namespace detail {

/// One summary's operands with their memory.
template <class C>
struct owned_summary {
  std::vector<scalar_of<C>> state;
  std::vector<scalar_of<C>> log_decay;
  std::vector<scalar_of<C>> angle;
  std::shared_ptr<transition_of<C>[]> transition;
  std::vector<std::uint8_t> reset;

  explicit owned_summary(const state_shape& s)
      : state(s.elements()),
        log_decay(kind_of<C>::transitions(s)),
        angle(log_decay.size()),
        transition{new transition_of<C>[entries(s)]},
        reset(s.batch, 0) {}

  [[nodiscard]] std::size_t numbers() const { return log_decay.size(); }
  [[nodiscard]] std::size_t entries(const state_shape& s) const {
    return numbers() * (std::same_as<kind_of<C>, kind::dense> ? s.key_dim * s.key_dim : 1);
  }
  /// Of a dense combiner in log space: sets the log decay.
  void put(std::size_t i, const transition_of<C>& number)
    requires(!std::same_as<kind_of<C>, kind::none>)
  {
    transition_buffer<C>{log_decay.data(), angle.data(), transition.get(), nullptr}.put(i, number);
  }
  template <class Operands>
  [[nodiscard]] Operands as() {
    Operands o;
    o.state = state;
    if constexpr (takes_log_decay<C>) o.log_decay = log_decay;
    if constexpr (takes_angle<C>) o.angle = angle;
    if constexpr (takes_transition<C>) o.transition = transition.get();
    o.reset = reset;
    return o;
  }
};

/// Draws summaries; about one number in eight is a reset, where the combiner has one.
template <class C>
class law_inputs {
 public:
  using scalar = scalar_of<C>;
  using kind = kind_of<C>;
  using number = transition_of<C>;

  law_inputs(const C& c, const law_options<C>& options) : options_{options}, random_{options.seed}, reset_{find_reset(c)} {}

  /// A number for which is_reset() is true, if one is known. Of a dense combiner in log space, a log decay.
  [[nodiscard]] const std::optional<number>& reset() const { return reset_; }

  [[nodiscard]] std::vector<scalar> state() {
    std::vector<scalar> s(options_.shape.elements());
    for (scalar& each : s) each = element();
    return s;
  }
  /// A carry of which nothing may pass a reset.
  [[nodiscard]] std::vector<scalar> poison() {
    if constexpr (!std::floating_point<scalar>) return state();
    return std::vector<scalar>(options_.shape.elements(), std::numeric_limits<scalar>::quiet_NaN());
  }
  [[nodiscard]] owned_summary<C> summary() {
    owned_summary<C> s{options_.shape};
    s.state = state();
    if constexpr (dense) {
      for (std::size_t i = 0; i < s.entries(options_.shape); ++i) s.transition.get()[i] = transition();
      if constexpr (is_log_space<C>) {
        for (scalar& g : s.log_decay) g = now_and_then() ? *reset_ : log_decay();
      }
    } else if constexpr (!std::same_as<kind, allscan::kind::none>) {
      for (std::size_t i = 0; i < s.numbers(); ++i) s.put(i, reset_ && now_and_then() ? *reset_ : transition());
    }
    return s;
  }

 private:
  static constexpr bool dense = std::same_as<kind, allscan::kind::dense>;

  [[nodiscard]] double uniform(double low, double high) { return std::uniform_real_distribution<double>{low, high}(random_); }
  [[nodiscard]] bool now_and_then() { return random_() % 8 == 0; }

  [[nodiscard]] scalar element() {
    if (options_.state) return options_.state(random_);
    if constexpr (std::floating_point<scalar>) return static_cast<scalar>(uniform(-1, 1));
    return static_cast<scalar>(random_());
  }
  [[nodiscard]] scalar log_decay() { return now_and_then() ? scalar{} : static_cast<scalar>(-uniform(0, 3)); }

  template <class T>
  [[nodiscard]] T plain_number() {
    if constexpr (!std::floating_point<T>) return static_cast<T>(random_());
    constexpr bool prepares = requires(const C& c, const T& t) { c.prepare(t); };
    return static_cast<T>(prepares ? -uniform(0, 1) : uniform(0, 1));
  }
  [[nodiscard]] number transition() {
    if (options_.transition) return options_.transition(random_);
    if constexpr (dense && is_log_space<C>) {
      return static_cast<number>(uniform(-1, 1));
    } else if constexpr (std::same_as<number, polar<scalar>>) {
      return {log_decay(), static_cast<scalar>(uniform(-4, 4))};
    } else if constexpr (is_log_space<C>) {
      return log_decay();
    } else if constexpr (std::is_arithmetic_v<number>) {
      return plain_number<number>();
    } else if constexpr (std::same_as<number, pair<scalar>>) {
      return {plain_number<scalar>(), plain_number<scalar>()};
    } else {
      throw invalid_argument("test_combiner_laws cannot make up this combiner's transition numbers: pass options.transition");
    }
  }

  [[nodiscard]] std::optional<number> find_reset(const C& combiner) const {
    if (options_.reset) return options_.reset;
    if constexpr (dense && is_log_space<C>) return -std::numeric_limits<scalar>::infinity();
    if constexpr (!dense && !std::same_as<kind, allscan::kind::none> && std::default_initializable<number>) {
      std::vector<number> candidates{number{}};
      if constexpr (std::same_as<number, polar<scalar>>) {
        candidates.push_back({-std::numeric_limits<scalar>::infinity(), scalar{1}});
      } else if constexpr (std::floating_point<number>) {
        candidates.push_back(-std::numeric_limits<number>::infinity());
      }
      for (const number& each : candidates) {
        if (allscan::is_reset(combiner, each)) return each;
      }
    }
    return {};
  }

  law_options<C> options_;
  std::mt19937_64 random_;
  std::optional<number> reset_;
};

}  // namespace detail
}  // namespace allscan
