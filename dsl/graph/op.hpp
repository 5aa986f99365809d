// The names of all node kinds. What each one means stands in its row in ops.hpp.
#pragma once
#include <cstdint>

namespace sheaf::inline v0_1 {

// The functions of one argument: a list that the surface reads too.
#define SHEAF_FUNCTIONS(X)                                                                                      \
  X(abs) X(sign) X(exp) X(log) X(log1p) X(expm1) X(sqrt) X(tanh) X(sigmoid) X(erf) X(sin) X(cos) X(tan) X(asin)   \
  X(acos) X(atan) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh) X(floor) X(ceil) X(round)
// Functions that are expressions of others, of one, two and three arguments: surface/composites.hpp.
#define SHEAF_COMPOSITES(X1, X2, X3)                                                                               \
  X1(rsqrt) X1(isnan) X1(isinf) X1(isfinite) X1(trunc) X1(relu) X1(gelu) X1(gelu_tanh) X1(silu) X1(softplus)       \
  X2(fmod) X3(clamp) X3(where)
#define SHEAF_NAME(name) #name,
inline constexpr const char* composite_names[] = {SHEAF_COMPOSITES(SHEAF_NAME, SHEAF_NAME, SHEAF_NAME)};
#undef SHEAF_NAME
#define SHEAF_ENUMERATOR(name) name,

enum class op : std::uint8_t {
  // Structure: nodes that name things or bind indices.
  constant,       // a number; its bits are the node's attribute
  index,          // a loop index over [args[0], args[1])
  input,          // an input tensor
  extent,         // args[0] = input; the attribute is the dimension
  define,         // a named tensor: args[0] = body, then its indices in order
  load,           // args[0] = input or define, then one subscript a dimension; the attribute is the surface's access
  reduce,         // args[0] = body, args[1] = condition, then the bound indices; the attribute is the monoid
  tuple,          // the body of a fold whose state is several values: one of each, in order
  operand,        // of a fold's combination: the attribute counts the values of the left state, then those of the right
  stop_gradient,  // args[0], with no derivative or with that of args[1]; with args[2], that must not hold where this is
                  // evaluated: the attribute is the name of the operation that says so (passes/demands.hpp)
  // Elementwise, one argument.
  neg, SHEAF_FUNCTIONS(SHEAF_ENUMERATOR) logical_not, bit_not, cast,
  // Elementwise, two arguments.
  add, sub, mul, div, quotient, remainder, bit_and, bit_or, bit_xor, shift_left, shift_right, pow, minimum, maximum,
  equal, not_equal, less, less_equal, logical_and, logical_or,
  // Elementwise, three arguments.
  select,
  count_
};

inline constexpr int op_count = static_cast<int>(op::count_);
constexpr bool is_elementwise(op kind) { return kind >= op::neg && kind < op::count_; }

// What a reduction folds with. Its algebra stands in monoids.hpp.
// From count_ on they are the program's own: entries of graph::monoids.
#define SHEAF_MONOIDS(X) X(sum) X(prod) X(max) X(min) X(any) X(all) X(argmax) X(argmin)
enum class monoid : std::uint8_t { SHEAF_MONOIDS(SHEAF_ENUMERATOR) count_ };
#undef SHEAF_ENUMERATOR
constexpr bool is_own(monoid kind) { return kind >= monoid::count_; }
constexpr int own_number(monoid kind) { return static_cast<int>(kind) - static_cast<int>(monoid::count_); }
constexpr monoid own_kind(int number) { return static_cast<monoid>(static_cast<int>(monoid::count_) + number); }

}  // namespace sheaf::inline v0_1
