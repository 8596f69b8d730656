/// Checks that a combiner keeps the laws that a scan relies on.
#pragma once

#include <allscan/combiner/host.hpp>
#include <allscan/combiner/kinds.hpp>
#include <allscan/combiner/law_inputs.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace allscan {

/// What test_combiner_laws() found.
struct law_report {
  std::vector<std::string> checked;  ///< laws that held, and the broken one
  std::vector<std::string> skipped;  ///< laws that the combiner gives no means to check, with the reason
  std::string failure;               ///< empty, or the first broken law: which, where, and both sides

  [[nodiscard]] bool passed() const { return failure.empty(); }
};

namespace detail {

template <class C>
class law_checker {
 public:
  using scalar = scalar_of<C>;
  using kind = kind_of<C>;
  using summary = owned_summary<C>;
  using state = std::vector<scalar>;

  law_checker(const C& c, const law_options<C>& options, std::string prefix, law_report& report)
      : c_{c},
        inputs_{c, options},
        shape_{options.shape},
        tolerance_{options.tolerance},
        prefix_{std::move(prefix)},
        report_{report} {}

  void run() {
    check("identity", [&] {
      summary s = inputs_.summary();
      same(applied(s, state(shape_.elements(), allscan::identity(c_))), s.state);
    });
    check("a state cut into blocks folds to the same bits", [&] { cuts(); });
    check("reset by flag", [&] {
      summary s = inputs_.summary();
      s.reset.assign(shape_.batch, 1);
      exactly(applied(s, inputs_.poison()), s.state);
    });
    if (inputs_.reset()) {
      check("reset by number", [&] {
        summary s = inputs_.summary();
        reset_numbers(s);
        exactly(applied(s, inputs_.poison()), s.state);
      });
    } else if constexpr (!std::same_as<kind, allscan::kind::none>) {
      report_.skipped.push_back(prefix_ + "reset by number: no number is known for which is_reset() is true");
    }
    if constexpr (composable<C>) {
      compositions();
    } else {
      report_.skipped.push_back(prefix_ + "associativity: the combiner has no compose(earlier, later)");
    }
  }

  /// <d, A x> = <A^T d, x>, with A x and A^T d taken as the folds onto a zero state.
  void adjoint_law()
    requires has_adjoint<C>
  {
    check("<d, A x> = <A^T d, x>", [&] {
      summary s = inputs_.summary();
      std::fill(s.state.begin(), s.state.end(), scalar{});
      owned_summary<adjoint<C>> transposed{shape_};
      transposed.log_decay = s.log_decay;
      transposed.angle = s.angle;
      transposed.transition = s.transition;
      transposed.reset = s.reset;
      const state x = inputs_.state();
      const state d = inputs_.state();
      state back(shape_.elements());
      const adjoint<C> c{c_};
      allscan::apply(c, shape_, transposed.template as<scan_operands<adjoint<C>>>(), d, back);
      const inner_product left = product(d, applied(s, x));
      const inner_product right = product(back, x);
      expect(near(left.sum, right.sum, std::max(left.magnitude, right.magnitude)), left.sum, right.sum);
    });
  }

 private:
  template <class Law>
  void check(const char* law, Law holds) {
    if (!report_.passed()) return;
    law_ = prefix_ + law;
    report_.checked.push_back(law_);
    holds();
  }

  void compositions() {
    check("apply after compose = apply after apply", [&] {
      summary a = inputs_.summary();
      summary b = inputs_.summary();
      summary both = composed(a, b);
      const state x = inputs_.state();
      same(applied(both, x), applied(b, applied(a, x)));
    });
    check("associativity", [&] {
      summary a = inputs_.summary();
      summary b = inputs_.summary();
      summary c = inputs_.summary();
      summary ab = composed(a, b);
      summary bc = composed(b, c);
      summary left = composed(ab, c);
      summary right = composed(a, bc);
      const state x = inputs_.state();
      same(left.state, right.state);
      same(applied(left, x), applied(right, x));
    });
    check("a summary composed with a reset resets", [&] {
      for (const bool first : {true, false}) {
        summary a = inputs_.summary();
        summary b = inputs_.summary();
        (first ? a : b).reset.assign(shape_.batch, 1);
        summary both = composed(a, b);
        exactly(applied(both, inputs_.poison()), both.state);
        if (!first) exactly(both.state, b.state);
        if (!inputs_.reset()) continue;
        a.reset.assign(shape_.batch, 0);
        b.reset.assign(shape_.batch, 0);
        reset_numbers(first ? a : b);
        both = composed(a, b);
        exactly(applied(both, inputs_.poison()), both.state);
      }
    });
  }

  void reset_numbers(summary& s) const {
    if constexpr (!std::same_as<kind, allscan::kind::none>) {
      for (std::size_t i = 0; i < s.numbers(); ++i) s.put(i, *inputs_.reset());
    }
  }

  /// Packed and in place, in 3 and in too many blocks.
  void cuts() {
    summary s = inputs_.summary();
    const state x = inputs_.state();
    const state whole = applied(s, x);
    const auto operands = resolve(shape_, s.template as<scan_operands<C>>());
    const std::size_t units = kind::units(shape_);
    for (const std::size_t blocks : {std::size_t{3}, units + 1}) {
      state out(shape_.elements());
      for (std::size_t b = 0; b < blocks; ++b) {
        const unit_range range = kind::block(shape_, blocks, b);
        state from(range.size() * kind::unit_elements(shape_));
        state to(from.size());
        kind::template copy<scalar>(shape_, range, {x.data(), false}, {from.data(), true});
        kind::fold(c_, shape_, range, operands.transition, {from.data(), true}, {s.state.data(), false}, {to.data(), true});
        kind::template copy<scalar>(shape_, range, {to.data(), true}, {out.data(), false});
      }
      exactly(out, whole);
    }
  }

  // ---- doing

  [[nodiscard]] state applied(summary& s, const state& carry) const {
    state out(shape_.elements());
    allscan::apply(c_, shape_, s.template as<scan_operands<C>>(), carry, out);
    return out;
  }
  [[nodiscard]] summary composed(summary& earlier, summary& later) const {
    summary out{shape_};
    allscan::compose(c_, shape_, earlier.template as<scan_operands<C>>(), later.template as<scan_operands<C>>(),
                     out.template as<summary_buffers<C>>());
    return out;
  }
  struct inner_product {
    scalar sum{};
    scalar magnitude{};  ///< of floats: the sum of the terms' absolute values, which rounding is measured by
  };
  [[nodiscard]] static inner_product product(const state& a, const state& b) {
    if constexpr (std::floating_point<scalar>) {
      long double sum = 0;
      long double magnitude = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const long double term = static_cast<long double>(a[i]) * static_cast<long double>(b[i]);
        sum += term;
        magnitude += std::abs(term);
      }
      return {static_cast<scalar>(sum), static_cast<scalar>(magnitude)};
    } else {
      std::make_unsigned_t<scalar> sum = 0;  // wraps, where a signed sum would overflow
      for (std::size_t i = 0; i < a.size(); ++i) {
        sum += static_cast<std::make_unsigned_t<scalar>>(a[i]) * static_cast<std::make_unsigned_t<scalar>>(b[i]);
      }
      return {static_cast<scalar>(sum), {}};
    }
  }

  // ---- comparing

  /// Equal, or floats that differ by rounding of numbers as large as `scale`.
  [[nodiscard]] bool near(scalar a, scalar b, scalar scale) const {
    if (a == b) return true;
    if constexpr (std::floating_point<scalar>) {
      return std::abs(a - b) <= static_cast<scalar>(tolerance_) * std::numeric_limits<scalar>::epsilon() * scale;
    }
    return false;
  }
  [[nodiscard]] static scalar largest(const state& s) {
    scalar largest{};
    if constexpr (std::floating_point<scalar>) {
      for (const scalar each : s) largest = std::max(largest, std::isfinite(each) ? std::abs(each) : scalar{});
    }
    return largest;
  }
  void same(const state& a, const state& b) {
    const scalar scale = std::max(largest(a), largest(b));
    for (std::size_t i = 0; i < a.size(); ++i) expect(near(a[i], b[i], scale), a[i], b[i], i);
  }
  void exactly(const state& a, const state& b) {
    for (std::size_t i = 0; i < a.size(); ++i) expect(a[i] == b[i], a[i], b[i], i);
  }
  void expect(bool equal, scalar a, scalar b, std::optional<std::size_t> element = {}) {
    if (equal || !report_.passed()) return;
    report_.failure =
        law_ + ": " + (element ? where(*element) : "") + std::to_string(a) + " and " + std::to_string(b) + " differ";
  }
  [[nodiscard]] std::string where(std::size_t i) const {
    const std::size_t row = i / shape_.value_dim;
    const std::size_t head = row / shape_.key_dim;
    return "at " +
           to_string(state_shape{head / shape_.heads, head % shape_.heads, row % shape_.key_dim, i % shape_.value_dim}) +
           " of " + to_string(shape_) + ", ";
  }

  C c_;
  law_inputs<C> inputs_;
  state_shape shape_;
  double tolerance_;
  std::string prefix_;
  law_report& report_;
  std::string law_;
};

}  // namespace detail

/// Checks, on generated summaries and carries: the identity, that cutting into blocks does not matter, resets (by flag and by
/// number, with a NaN carry), that apply and compose agree, associativity, and of a combiner with an adjoint also the adjoint's
/// own laws and <d, A x> = <A^T d, x>. Integer combiners are compared exactly, floating-point ones within options.tolerance.
/// Laws that need a function the combiner lacks are reported as skipped.
/// @throws invalid_argument if the shape does not suit the kind, or transition numbers cannot be made up.
template <class C>
[[nodiscard]] law_report test_combiner_laws(const C& c, const law_options<C>& options = {}) {
  static_assert(require_combiner<C>());
  kind_of<C>::validate(options.shape);
  law_report report;
  detail::law_checker<C> plain{c, options, "", report};
  plain.run();
  if constexpr (has_adjoint<C>) {
    plain.adjoint_law();
    const law_options<adjoint<C>> same{options.shape, options.seed,       options.tolerance,
                                       options.state, options.transition, options.reset};
    detail::law_checker<adjoint<C>>{adjoint<C>{c}, same, "adjoint: ", report}.run();
  }
  return report;
}

}  // namespace allscan
