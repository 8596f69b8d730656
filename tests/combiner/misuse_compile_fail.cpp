/// Misuse that must not compile: each case is one macro, and gives a sentence that names the requirement.

#include <allscan/combiner/adjoint.hpp>
#include <allscan/combiner/gradient.hpp>
#include <allscan/combiner/host.hpp>
#include <allscan/combiner/models.hpp>
#include <allscan/combiner/operands.hpp>

#include <cstdint>
#include <vector>

namespace {

using namespace allscan;

struct mixing {
  using scalar = float;
  using kind = allscan::kind::dense;
#if defined(DENSE_WITH_AN_ELEMENT_AS_UNIT)
  static constexpr unit_form unit = unit_form::element;
#elif defined(DENSE_WITH_A_ROW_PAIR_AS_UNIT)
  static constexpr unit_form unit = unit_form::row_pair;
#else
  static constexpr unit_form unit = unit_form::column;
#endif
  static float apply(float a, float carry, float sum) { return a * carry + sum; }
};

struct turning {
  using scalar = float;
  using kind = allscan::kind::rotation;
  using transition = pair<float>;
#if defined(ROTATION_WITH_A_COLUMN_AS_UNIT)
  static constexpr unit_form unit = unit_form::column;
#endif
  static pair<float> apply(pair<float>, pair<float>, pair<float> local) { return local; }
};

struct narrow {
#if defined(STATE_OF_16_BITS)
  using scalar = std::int16_t;
#else
  using scalar = std::int32_t;
#endif
  using kind = allscan::kind::scalar;
  static scalar apply(scalar, scalar, scalar local) { return local; }
};

struct silent {
  using scalar = float;
  using kind = allscan::kind::scalar;
#if !defined(NO_APPLY)
  static float apply(float, float, float local) { return local; }
#endif
};

struct kindless {
  using scalar = float;
#if defined(NOT_A_KIND)
  using kind = int;
#else
  using kind = allscan::kind::scalar;
#endif
  static float apply(float, float, float local) { return local; }
};

[[maybe_unused]] void declared(const state_shape& shape, const std::vector<float>& x, std::vector<float>& out) {
  (void)scan_operands<mixing>{.state = x, .transition = x};
  (void)scan_operands<turning>{.state = x};
  (void)scan_operands<narrow>{};
  (void)scan_operands<silent>{};
  (void)scan_operands<kindless>{};
#if defined(NOT_A_COMBINER)
  (void)scan_operands<std::vector<float>>{};
#endif

#if defined(DIAGONAL_WITH_A_MATRIX)
  (void)resolve<gla<float>>(shape, {.state = x, .log_decay = x, .transition = x});
#elif defined(DIAGONAL_WITH_AN_ANGLE)
  (void)resolve<gla<float>>(shape, {.state = x, .log_decay = x, .angle = x});
#elif defined(NONE_WITH_A_DECAY)
  (void)resolve<linear_attention<float>>(shape, {.state = x, .log_decay = x});
#elif defined(ROTATION_WITH_A_MATRIX)
  (void)resolve<rotary<float>>(shape, {.state = x, .log_decay = x, .angle = x, .transition = x});
#elif defined(DENSE_WITH_AN_ANGLE)
  (void)resolve<deltanet<float>>(shape, {.state = x, .angle = x, .transition = x});
#elif defined(CUSTOM_WITH_A_DECAY)
  (void)resolve<silent>(shape, {.state = x, .log_decay = x, .transition = x});
#else
  (void)resolve<gla<float>>(shape, {.state = x, .log_decay = x});
#endif

#if defined(ADJOINT_OF_ONE_WITHOUT)
  (void)adjoint{silent{}};
#elif defined(ADJOINT_OF_A_NON_COMBINER)
  (void)adjoint<int>{};
#else
  (void)adjoint{gla<float>{}};
#endif

#if defined(COMPOSE_WITHOUT_COMPOSE)
  compose(silent{}, shape, {}, {}, {.state = out});
#elif defined(GRADIENT_OF_A_CUSTOM_COMBINER)
  transition_gradient(silent{}, shape, {}, x, x, {});
#elif defined(GRADIENT_OF_AN_ADJOINT)
  transition_gradient(adjoint{gla<float>{}}, shape, {}, x, x, {});
#else
  transition_gradient(gla<float>{}, shape, {}, x, x, {.log_decay = out});
#endif

#if defined(DECAY_OF_A_ROTATION)
  (void)decay<kind::rotation, float>{};
#else
  (void)decay<kind::scalar, float>{};
#endif
}

}  // namespace
