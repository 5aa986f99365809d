// One row per elementwise op: everything that is known of an op stands in its row. Shown by tests/static/ops.cpp.
#pragma once
#include <sheaf/dsl/graph/constexpr_math.hpp>
#include <sheaf/dsl/graph/graph.hpp>

namespace sheaf::inline v0_1 {

// What type an op yields for arguments promoted to one type.
enum class result_type : std::uint8_t { same, boolean, floating, target };

// How many instructions an element of a floating type takes: the work that plans count, keep and share.
enum class op_cost : std::uint8_t {
  few,
  division,  // one that the processor takes many cycles over
  function,  // dozens
};

struct op_row {
  op kind;
  const char* name;      // as printed and as the function of the language
  const char* infix;     // as printed between its arguments; null: a call
  int precedence;        // of the infix form, as in C++; higher binds tighter
  int arity;
  result_type result;
  bool commutative;
  double identity;       // x op identity == x; NaN where there is none
  double (*real)(double, double, double);                            // its meaning for floating types; null: none
  std::int64_t (*integer)(std::int64_t, std::int64_t, std::int64_t);  // and for integers and booleans
  // The cotangent of argument k, from the node y and its cotangent dy; no_node where it is zero everywhere.
  node_id (*adjoint)(graph& g, node_id y, node_id dy, int k);
  const char* library;   // the C function (of f32 with an f) that emitters call unless they know better; null: they do
  op_cost cost = op_cost::few;
  bool increasing = false;  // of one argument: wherever it is defined
};

// Defined in make.hpp.
constexpr node_id make(graph& g, op kind, node_id a, node_id b = no_node, node_id c = no_node);
constexpr node_id number_like(graph& g, node_id model, double value);
constexpr node_id cast_to(graph& g, element type, node_id a);

namespace adjoints {

using id = node_id;
constexpr id none(graph&, id, id, int) { return no_node; }
constexpr id times(graph& g, id dy, id factor) { return make(g, op::mul, dy, factor); }
constexpr id x_of(graph& g, id y, int k = 0) { return g.arg(y, k); }
constexpr id num(graph& g, id like, double v) { return number_like(g, like, v); }

constexpr id add(graph&, id, id dy, int) { return dy; }
constexpr id sub(graph& g, id, id dy, int k) { return k == 0 ? dy : make(g, op::neg, dy); }
constexpr id mul(graph& g, id y, id dy, int k) { return times(g, dy, x_of(g, y, 1 - k)); }
constexpr id div(graph& g, id y, id dy, int k) {
  const id part = make(g, op::div, dy, x_of(g, y, 1));
  return k == 0 ? part : make(g, op::neg, times(g, part, y));
}
constexpr id neg(graph& g, id, id dy, int) { return make(g, op::neg, dy); }
constexpr id abs(graph& g, id y, id dy, int) { return times(g, dy, make(g, op::sign, x_of(g, y))); }
constexpr id exp(graph& g, id y, id dy, int) { return times(g, dy, y); }
constexpr id log(graph& g, id y, id dy, int) { return make(g, op::div, dy, x_of(g, y)); }
constexpr id log1p(graph& g, id y, id dy, int) {
  return make(g, op::div, dy, make(g, op::add, x_of(g, y), num(g, y, 1)));
}
constexpr id expm1(graph& g, id y, id dy, int) { return times(g, dy, make(g, op::add, y, num(g, y, 1))); }
constexpr id sqrt(graph& g, id y, id dy, int) { return make(g, op::div, dy, times(g, num(g, y, 2), y)); }
constexpr id tanh(graph& g, id y, id dy, int) {
  return times(g, dy, make(g, op::sub, num(g, y, 1), times(g, y, y)));
}
constexpr id sigmoid(graph& g, id y, id dy, int) {
  return times(g, dy, times(g, y, make(g, op::sub, num(g, y, 1), y)));
}
constexpr id erf(graph& g, id y, id dy, int) {
  const id x = x_of(g, y);
  const id bell = make(g, op::exp, make(g, op::neg, times(g, x, x)));
  return times(g, dy, times(g, num(g, y, 1.1283791670955126), bell));  // 2 / sqrt(pi)
}
constexpr id sin(graph& g, id y, id dy, int) { return times(g, dy, make(g, op::cos, x_of(g, y))); }
constexpr id cos(graph& g, id y, id dy, int) {
  return make(g, op::neg, times(g, dy, make(g, op::sin, x_of(g, y))));
}
constexpr id tan(graph& g, id y, id dy, int) {
  return times(g, dy, make(g, op::add, num(g, y, 1), times(g, y, y)));
}
// x squared, and a number more or less.
constexpr id square_and(graph& g, id y, op kind, double number) {
  return make(g, kind, times(g, x_of(g, y), x_of(g, y)), num(g, y, number));
}
constexpr id asin(graph& g, id y, id dy, int) {
  return make(g, op::div, dy, make(g, op::sqrt, make(g, op::neg, square_and(g, y, op::sub, 1))));
}
constexpr id acos(graph& g, id y, id dy, int) { return make(g, op::neg, asin(g, y, dy, 0)); }
constexpr id atan(graph& g, id y, id dy, int) { return make(g, op::div, dy, square_and(g, y, op::add, 1)); }
constexpr id sinh(graph& g, id y, id dy, int) { return times(g, dy, make(g, op::cosh, x_of(g, y))); }
constexpr id cosh(graph& g, id y, id dy, int) { return times(g, dy, make(g, op::sinh, x_of(g, y))); }
constexpr id asinh(graph& g, id y, id dy, int) {
  return make(g, op::div, dy, make(g, op::sqrt, square_and(g, y, op::add, 1)));
}
constexpr id acosh(graph& g, id y, id dy, int) {
  return make(g, op::div, dy, make(g, op::sqrt, square_and(g, y, op::sub, 1)));
}
constexpr id atanh(graph& g, id y, id dy, int) {
  return make(g, op::div, dy, make(g, op::neg, square_and(g, y, op::sub, 1)));
}
// Of what was widened for a while the derivative has been widened as well: it is what it was before.
constexpr id cast(graph& g, id y, id dy, int) {
  const element type = g.type(x_of(g, y));
  const bool back = g.kind(dy) == op::cast && g.type(x_of(g, dy)) == type && is_floating(type) &&
                    row(type).bytes < row(g.type(dy)).bytes && is_floating(g.type(dy));
  return back ? x_of(g, dy) : cast_to(g, type, dy);
}
constexpr id remainder(graph& g, id y, id dy, int k) {
  return k == 0 ? dy : make(g, op::neg, times(g, dy, make(g, op::quotient, x_of(g, y, 0), x_of(g, y, 1))));
}
// As PyTorch: a zero exponent has derivative 0 in the base, a zero base derivative 0 in an exponent that is not
// negative.
constexpr id pow(graph& g, id y, id dy, int k) {
  const id base = x_of(g, y, 0), exponent = x_of(g, y, 1), zero = num(g, y, 0);
  if (k == 0) {
    const id power = make(g, op::pow, base, make(g, op::sub, exponent, num(g, y, 1)));
    return make(g, op::select, make(g, op::equal, exponent, zero), zero, times(g, dy, times(g, exponent, power)));
  }
  const id flat = make(g, op::logical_and, make(g, op::equal, base, zero), make(g, op::less_equal, zero, exponent));
  return make(g, op::select, flat, zero, times(g, dy, times(g, y, make(g, op::log, base))));
}
// Ties share the cotangent evenly, as PyTorch's maximum and minimum do.
constexpr id extremum(graph& g, id y, id dy, int k) {
  const id mine = x_of(g, y, k), other = x_of(g, y, 1 - k), zero = num(g, y, 0);
  const id won = make(g, op::select, make(g, op::equal, mine, y), dy, zero);
  return make(g, op::select, make(g, op::equal, mine, other), times(g, dy, num(g, y, 0.5)), won);
}
constexpr id select(graph& g, id y, id dy, int k) {
  if (k == 0) return no_node;
  const id zero = num(g, y, 0), c = x_of(g, y, 0);
  return k == 1 ? make(g, op::select, c, dy, zero) : make(g, op::select, c, zero, dy);
}

}  // namespace adjoints

#define SHEAF_REAL(e)                                                                                                 \
  []([[maybe_unused]] double a, [[maybe_unused]] double b, [[maybe_unused]] double c) -> double { return e; }
#define SHEAF_INT(e)                                                                                               \
  [](std::int64_t a, [[maybe_unused]] std::int64_t b, [[maybe_unused]] std::int64_t c) -> std::int64_t { return e; }
#define SHEAF_WRAP(e) static_cast<std::int64_t>(e)
#define SHEAF_U(x) static_cast<std::uint64_t>(x)

// Integers wrap; comparisons and logic yield 0 or 1; maximum and minimum return NaN if either argument is one;
// operations on bits mean nothing for floating types, of which expressions refuse them.
inline constexpr op_row op_rows[] = {
    {op::neg, "neg", "-", 9, 1, result_type::same, false, math::nan,
     SHEAF_REAL(-a), SHEAF_INT(SHEAF_WRAP(0 - SHEAF_U(a))), adjoints::neg, nullptr},
    {op::abs, "abs", nullptr, 0, 1, result_type::same, false, math::nan,
     SHEAF_REAL(math::abs(a)), SHEAF_INT(a < 0 ? SHEAF_WRAP(0 - SHEAF_U(a)) : a), adjoints::abs, "fabs"},
    {op::sign, "sign", nullptr, 0, 1, result_type::same, false, math::nan,
     SHEAF_REAL(a > 0 ? 1 : a < 0 ? -1 : 0), SHEAF_INT((a > 0) - (a < 0)), adjoints::none, nullptr},
    {op::exp, "exp", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::exp(a)), nullptr, adjoints::exp, "exp", op_cost::function, true},
    {op::log, "log", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::log(a)), nullptr, adjoints::log, "log", op_cost::function, true},
    {op::log1p, "log1p", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::log1p(a)), nullptr, adjoints::log1p, "log1p", op_cost::function, true},
    {op::expm1, "expm1", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::expm1(a)), nullptr, adjoints::expm1, "expm1", op_cost::function, true},
    {op::sqrt, "sqrt", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::sqrt(a)), nullptr, adjoints::sqrt, "sqrt", op_cost::division, true},
    {op::tanh, "tanh", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::tanh(a)), nullptr, adjoints::tanh, "tanh", op_cost::function, true},
    {op::sigmoid, "sigmoid", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::sigmoid(a)), nullptr, adjoints::sigmoid, nullptr, op_cost::function, true},
    {op::erf, "erf", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::erf(a)), nullptr, adjoints::erf, "erf", op_cost::function, true},
    {op::sin, "sin", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::sin(a)), nullptr, adjoints::sin, "sin", op_cost::function},
    {op::cos, "cos", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::cos(a)), nullptr, adjoints::cos, "cos", op_cost::function},
    {op::tan, "tan", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::tan(a)), nullptr, adjoints::tan, "tan", op_cost::function},
    {op::asin, "asin", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::asin(a)), nullptr, adjoints::asin, "asin", op_cost::function, true},
    {op::acos, "acos", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::acos(a)), nullptr, adjoints::acos, "acos", op_cost::function},
    {op::atan, "atan", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::atan(a)), nullptr, adjoints::atan, "atan", op_cost::function, true},
    {op::sinh, "sinh", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::sinh(a)), nullptr, adjoints::sinh, "sinh", op_cost::function, true},
    {op::cosh, "cosh", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::cosh(a)), nullptr, adjoints::cosh, "cosh", op_cost::function},
    {op::asinh, "asinh", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::asinh(a)), nullptr, adjoints::asinh, "asinh", op_cost::function, true},
    {op::acosh, "acosh", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::acosh(a)), nullptr, adjoints::acosh, "acosh", op_cost::function, true},
    {op::atanh, "atanh", nullptr, 0, 1, result_type::floating, false, math::nan,
     SHEAF_REAL(math::atanh(a)), nullptr, adjoints::atanh, "atanh", op_cost::function, true},
    {op::floor, "floor", nullptr, 0, 1, result_type::same, false, math::nan,
     SHEAF_REAL(math::floor(a)), SHEAF_INT(a), adjoints::none, "floor"},
    {op::ceil, "ceil", nullptr, 0, 1, result_type::same, false, math::nan,
     SHEAF_REAL(math::ceil(a)), SHEAF_INT(a), adjoints::none, "ceil"},
    {op::round, "round", nullptr, 0, 1, result_type::same, false, math::nan,
     SHEAF_REAL(math::round(a)), SHEAF_INT(a), adjoints::none, "rint"},
    {op::logical_not, "logical_not", "!", 9, 1, result_type::boolean, false, math::nan,
     SHEAF_REAL(a == 0), SHEAF_INT(a == 0), adjoints::none, nullptr},
    {op::bit_not, "bit_not", nullptr, 0, 1, result_type::same, false, math::nan,
     SHEAF_REAL(math::nan), SHEAF_INT(~a), adjoints::none, nullptr},
    {op::cast, "cast", nullptr, 0, 1, result_type::target, false, math::nan,
     SHEAF_REAL(a), SHEAF_INT(a), adjoints::cast, nullptr, op_cost::few, true},
    {op::add, "add", "+", 7, 2, result_type::same, true, 0,
     SHEAF_REAL(math::add(a, b)), SHEAF_INT(SHEAF_WRAP(SHEAF_U(a) + SHEAF_U(b))), adjoints::add, nullptr},
    {op::sub, "sub", "-", 7, 2, result_type::same, false, 0,
     SHEAF_REAL(math::sub(a, b)), SHEAF_INT(SHEAF_WRAP(SHEAF_U(a) - SHEAF_U(b))), adjoints::sub, nullptr},
    {op::mul, "mul", "*", 8, 2, result_type::same, true, 1,
     SHEAF_REAL(math::mul(a, b)), SHEAF_INT(SHEAF_WRAP(SHEAF_U(a) * SHEAF_U(b))), adjoints::mul, nullptr},
    {op::div, "div", "/", 8, 2, result_type::floating, false, 1,
     SHEAF_REAL(math::div(a, b)), nullptr, adjoints::div, nullptr, op_cost::division},
    {op::quotient, "quotient", nullptr, 0, 2, result_type::same, false, 1,
     SHEAF_REAL(math::quotient(a, b)), SHEAF_INT(math::floor_quotient(a, b)), adjoints::none, nullptr},
    {op::remainder, "remainder", nullptr, 0, 2, result_type::same, false, math::nan,
     SHEAF_REAL(math::remainder(a, b)), SHEAF_INT(math::floor_remainder(a, b)), adjoints::remainder, nullptr},
    {op::bit_and, "bit_and", nullptr, 0, 2, result_type::same, true, -1,
     SHEAF_REAL(math::nan), SHEAF_INT(a & b), adjoints::none, nullptr},
    {op::bit_or, "bit_or", nullptr, 0, 2, result_type::same, true, 0,
     SHEAF_REAL(math::nan), SHEAF_INT(a | b), adjoints::none, nullptr},
    {op::bit_xor, "bit_xor", nullptr, 0, 2, result_type::same, true, 0,
     SHEAF_REAL(math::nan), SHEAF_INT(a ^ b), adjoints::none, nullptr},
    {op::shift_left, "shift_left", nullptr, 0, 2, result_type::same, false, 0,
     SHEAF_REAL(math::nan), SHEAF_INT(math::shifted_left(a, b)), adjoints::none, nullptr},
    {op::shift_right, "shift_right", nullptr, 0, 2, result_type::same, false, 0,
     SHEAF_REAL(math::nan), SHEAF_INT(math::shifted_right(a, b)), adjoints::none, nullptr},
    {op::pow, "pow", nullptr, 0, 2, result_type::floating, false, 1,
     SHEAF_REAL(math::pow(a, b)), nullptr, adjoints::pow, "pow", op_cost::function},
    {op::minimum, "minimum", nullptr, 0, 2, result_type::same, true, math::infinity,
     SHEAF_REAL(a != a ? a : b != b ? b : b < a ? b : a), SHEAF_INT(b < a ? b : a), adjoints::extremum, nullptr},
    {op::maximum, "maximum", nullptr, 0, 2, result_type::same, true, -math::infinity,
     SHEAF_REAL(a != a ? a : b != b ? b : b > a ? b : a), SHEAF_INT(b > a ? b : a), adjoints::extremum, nullptr},
    {op::equal, "equal", "==", 5, 2, result_type::boolean, true, math::nan,
     SHEAF_REAL(a == b), SHEAF_INT(a == b), adjoints::none, nullptr},
    {op::not_equal, "not_equal", "!=", 5, 2, result_type::boolean, true, math::nan,
     SHEAF_REAL(a != b), SHEAF_INT(a != b), adjoints::none, nullptr},
    {op::less, "less", "<", 6, 2, result_type::boolean, false, math::nan,
     SHEAF_REAL(a < b), SHEAF_INT(a < b), adjoints::none, nullptr},
    {op::less_equal, "less_equal", "<=", 6, 2, result_type::boolean, false, math::nan,
     SHEAF_REAL(a <= b), SHEAF_INT(a <= b), adjoints::none, nullptr},
    {op::logical_and, "logical_and", "&&", 4, 2, result_type::boolean, true, 1,
     SHEAF_REAL(a != 0 && b != 0), SHEAF_INT(a != 0 && b != 0), adjoints::none, nullptr},
    {op::logical_or, "logical_or", "||", 3, 2, result_type::boolean, true, 0,
     SHEAF_REAL(a != 0 || b != 0), SHEAF_INT(a != 0 || b != 0), adjoints::none, nullptr},
    {op::select, "select", nullptr, 0, 3, result_type::same, false, math::nan,
     SHEAF_REAL(a != 0 ? b : c), SHEAF_INT(a != 0 ? b : c), adjoints::select, nullptr},
};
#undef SHEAF_REAL
#undef SHEAF_INT
#undef SHEAF_WRAP
#undef SHEAF_U

constexpr const op_row& row(op kind) { return op_rows[static_cast<int>(kind) - static_cast<int>(op::neg)]; }

constexpr bool rows_are_whole() {
  if (sizeof(op_rows) / sizeof(op_row) != static_cast<unsigned>(op_count - static_cast<int>(op::neg))) return false;
  for (const op_row& r : op_rows) {
    if (&row(r.kind) != &r || r.name == nullptr || r.adjoint == nullptr || r.real == nullptr) return false;
    if (r.integer == nullptr && r.result != result_type::floating) return false;
    if ((r.cost == op_cost::few) != (r.result != result_type::floating)) return false;
    if (r.infix != nullptr && r.precedence == 0) return false;
  }
  return true;
}
static_assert(rows_are_whole(), "op_rows: each op of op.hpp needs one whole row, in the order of the enumeration");

// The meaning of a row for integers of a type. Those of u64 are held as the i64 of the same bits: where the sign of an
// i64 would count, half of the range is taken away from both.
constexpr std::int64_t whole_result(const op_row& r, element type, std::int64_t a, std::int64_t b, std::int64_t c) {
  if (type != element::u64) return r.integer(a, b, c);
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  switch (r.kind) {
    case op::less:
    case op::less_equal: return r.integer(a ^ INT64_MIN, b ^ INT64_MIN, 0);
    case op::minimum:
    case op::maximum: return r.integer(a ^ INT64_MIN, b ^ INT64_MIN, 0) ^ INT64_MIN;
    case op::quotient: return y == 0 ? 0 : static_cast<std::int64_t>(x / y);
    case op::remainder: return y == 0 ? 0 : static_cast<std::int64_t>(x % y);
    case op::abs: return a;
    case op::sign: return a != 0;
    case op::shift_right: return y > 63 ? 0 : static_cast<std::int64_t>(x >> y);
    default: return r.integer(a, b, c);
  }
}

}  // namespace sheaf::inline v0_1
