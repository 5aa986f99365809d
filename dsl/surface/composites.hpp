// Functions that are expressions of others: a row each, for both languages. Their derivatives are PyTorch's; where that
// of the fastest formula is not, the row grafts the derivative of another (docs/language.md).
// Shown by tests/numeric/composites.cpp, whose numbers are PyTorch's.
#pragma once
#include <sheaf/dsl/surface/build.hpp>

namespace sheaf::inline v0_1 {

struct composite_row {
  const char* name;
  int arity;
  built (*make)(builder& b, const built* x);
};

namespace composites {

constexpr built grafted(builder& b, built value, built path) { return {b.graft(value.id, path.id), value.weak}; }

constexpr built rsqrt(builder& b, const built* x) {
  return b.apply(op::div, {b.literal(1), b.apply(op::sqrt, {x[0]})});
}
constexpr built isnan(builder& b, const built* x) { return b.apply(op::not_equal, {x[0], x[0]}); }
constexpr built isinf(builder& b, const built* x) {
  return b.apply(op::equal, {b.apply(op::abs, {x[0]}), b.literal(math::infinity)});
}
constexpr built isfinite(builder& b, const built* x) {
  return b.apply(op::less, {b.apply(op::abs, {x[0]}), b.literal(math::infinity)});
}
constexpr built trunc(builder& b, const built* x) {
  const built down = b.apply(op::less, {x[0], b.literal(0)});
  return b.apply(op::select, {down, b.apply(op::ceil, {x[0]}), b.apply(op::floor, {x[0]})});
}
// Derivative 0 at 0; NaN stays NaN.
constexpr built relu(builder& b, const built* x) {
  return b.apply(op::select, {b.apply(op::less_equal, {x[0], b.literal(0)}), b.literal(0), x[0]});
}
constexpr built half_of(builder& b, built x, built weight) {
  const built both = b.apply(op::add, {b.literal(1), weight});
  return b.apply(op::mul, {b.apply(op::mul, {b.literal(0.5), x}), both});
}
constexpr built gelu(builder& b, const built* x) {
  return half_of(b, x[0], b.apply(op::erf, {b.apply(op::mul, {x[0], b.literal(0.70710678118654757)})}));
}
constexpr built gelu_tanh(builder& b, const built* x) {
  const built cube = b.apply(op::mul, {b.apply(op::mul, {x[0], x[0]}), x[0]});
  const built inner = b.apply(op::add, {x[0], b.apply(op::mul, {b.literal(0.044715), cube})});
  return half_of(b, x[0], b.apply(op::tanh, {b.apply(op::mul, {b.literal(0.79788456080286541), inner})}));
}
constexpr built silu(builder& b, const built* x) { return b.apply(op::mul, {x[0], b.apply(op::sigmoid, {x[0]})}); }
// log(1 + exp(x)). The value takes one exponential; its derivative is that of the branch that does not overflow, which
// has one at 0 as well.
constexpr built softplus(builder& b, const built* x) {
  const built below = b.apply(op::log1p, {b.apply(op::exp, {x[0]})});
  const built minus = b.apply(op::neg, {x[0]});
  const built above = b.apply(op::add, {x[0], b.apply(op::log1p, {b.apply(op::exp, {minus})})});
  const built path = b.apply(op::select, {b.apply(op::less, {b.literal(0), x[0]}), above, below});
  const built small = b.apply(op::exp, {b.apply(op::neg, {b.apply(op::abs, {x[0]})})});
  return grafted(b, b.apply(op::add, {b.apply(op::maximum, {x[0], b.literal(0)}), b.apply(op::log1p, {small})}), path);
}
// What is left has the sign of x, as C's fmod.
constexpr built fmod(builder& b, const built* x) {
  const built rest = b.apply(op::remainder, {b.apply(op::abs, {x[0]}), b.apply(op::abs, {x[1]})});
  const built down = b.apply(op::less, {x[0], b.literal(0)});
  const built value = b.apply(op::select, {down, b.apply(op::neg, {rest}), rest});
  const built ratio = b.apply(op::div, {x[0], x[1]});
  return grafted(b, value, b.apply(op::sub, {x[0], b.apply(op::mul, {x[1], trunc(b, &ratio)})}));
}
// Between numbers the derivative is 0 at the bounds; between other values maximum and minimum share it.
constexpr built clamp(builder& b, const built* x) {
  const built value = b.apply(op::minimum, {b.apply(op::maximum, {x[0], x[1]}), x[2]});
  if (!is_constant(b.g, x[1].id) || !is_constant(b.g, x[2].id)) return value;
  const built within = b.apply(op::logical_and, {b.apply(op::less, {x[1], x[0]}), b.apply(op::less, {x[0], x[2]})});
  return grafted(b, value, b.apply(op::select, {within, x[0], b.literal(0)}));
}
constexpr built where(builder& b, const built* x) { return b.apply(op::select, {x[0], x[1], x[2]}); }

#define SHEAF_ROW1(name) composite_row{#name, 1, name},
#define SHEAF_ROW2(name) composite_row{#name, 2, name},
#define SHEAF_ROW3(name) composite_row{#name, 3, name},
inline constexpr composite_row rows[] = {SHEAF_COMPOSITES(SHEAF_ROW1, SHEAF_ROW2, SHEAF_ROW3)};
#undef SHEAF_ROW1
#undef SHEAF_ROW2
#undef SHEAF_ROW3

}  // namespace composites

}  // namespace sheaf::inline v0_1
