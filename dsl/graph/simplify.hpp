// Numbers as nodes, and what an elementwise node is by constant folding or a local identity. make.hpp asks before it
// interns one. Shown by tests/static/integers.cpp, tests/gradient. Private header of make.hpp.
//
// The rules keep values: x + 0 and x * 1 are x, but x * 0 stays, for x may be infinite or NaN. Two are choices of the
// language (semantics.md): false * x is 0, and -0 + 0 may stay -0.
#pragma once
#include <bit>

#include <sheaf/dsl/graph/half.hpp>
#include <sheaf/dsl/graph/ops.hpp>

namespace sheaf::inline v0_1 {

constexpr node_id integer(graph& g, std::int64_t value, element type = element::i64) {
  return g.intern(op::constant, type, wrap_to(type, value), nullptr, 0);
}
constexpr node_id number(graph& g, element type, double value) {
  if (!is_floating(type)) return integer(g, truncate_to(type, value), type);
  return g.intern(op::constant, type, std::bit_cast<std::int64_t>(round_to(type, value)), nullptr, 0);
}
constexpr node_id number_like(graph& g, node_id model, double value) { return number(g, g.type(model), value); }
constexpr node_id truth(graph& g, bool value) { return integer(g, value, element::boolean); }

constexpr bool is_constant(const graph& g, node_id a) { return g.kind(a) == op::constant; }
constexpr double real_value(const graph& g, node_id a) {
  const std::int64_t bits = g[a].attribute;
  return is_floating(g.type(a)) ? std::bit_cast<double>(bits) : real_of(element::f64, bits, g.type(a));
}
constexpr bool is_number(const graph& g, node_id a, double value) {
  return is_constant(g, a) && real_value(g, a) == value;
}
constexpr bool is_true(const graph& g, node_id a) { return g.type(a) == element::boolean && is_number(g, a, 1); }
constexpr bool is_false(const graph& g, node_id a) { return g.type(a) == element::boolean && is_number(g, a, 0); }

// Can evaluation fail, by a subscript out of range? Then a condition that stands before it must stay before it.
constexpr bool may_fail(graph& g, node_id n);
constexpr node_id conjunction(graph& g, node_id a, node_id b);

namespace rules {

constexpr node_id fold(graph& g, op kind, element type, const node_id* list, int count) {
  double r[3] = {0, 0, 0};
  std::int64_t i[3] = {0, 0, 0};
  bool real = false;
  for (int k = 0; k < count; ++k) {
    if (!is_constant(g, list[k])) return no_node;
    r[k] = real_value(g, list[k]);
    i[k] = g[list[k]].attribute;
    real = real || (is_floating(g.type(list[k])) && !(kind == op::select && k == 0));
  }
  const op_row& w = row(kind);
  if (kind == op::select && real && !is_floating(type)) return no_node;
  if (real || w.integer == nullptr) return number(g, type, w.real(r[0], r[1], r[2]));
  return integer(g, whole_result(w, g.type(list[kind == op::select ? 1 : 0]), i[0], i[1], i[2]), type);
}

constexpr bool integral(const graph& g, node_id a) { return !is_floating(g.type(a)); }

// (x + c) + d = x + (c + d) for integers; x - c = x + -c.
constexpr node_id add_integers(graph& g, node_id a, node_id b) {
  if (is_constant(g, a) && !is_constant(g, b)) return add_integers(g, b, a);
  if (g.kind(a) == op::add && is_constant(g, g.arg(a, 1)) && is_constant(g, b))
    return make(g, op::add, g.arg(a, 0), make(g, op::add, g.arg(a, 1), b));
  if (g.kind(a) == op::sub && g.arg(a, 1) == b) return g.arg(a, 0);
  if (g.kind(b) == op::sub && g.arg(b, 1) == a) return g.arg(b, 0);
  return no_node;
}

constexpr node_id add(graph& g, node_id a, node_id b) {
  if (is_number(g, a, 0)) return b;
  if (is_number(g, b, 0)) return a;
  if (g.kind(b) == op::neg) return make(g, op::sub, a, g.arg(b, 0));
  if (g.kind(a) == op::neg) return make(g, op::sub, b, g.arg(a, 0));
  return integral(g, a) ? add_integers(g, a, b) : no_node;
}

constexpr node_id sub(graph& g, node_id a, node_id b) {
  if (is_number(g, b, 0)) return a;
  if (is_number(g, a, 0)) return make(g, op::neg, b);
  if (g.kind(b) == op::neg) return make(g, op::add, a, g.arg(b, 0));
  if (!integral(g, a)) return no_node;
  if (a == b) return integer(g, 0, g.type(a));
  if (is_constant(g, b)) return make(g, op::add, a, make(g, op::neg, b));
  if (g.kind(a) == op::add && g.arg(a, 0) == b) return g.arg(a, 1);
  if (g.kind(a) == op::add && g.arg(a, 1) == b) return g.arg(a, 0);
  if (g.kind(a) == op::add && g.kind(b) == op::add && g.arg(a, 0) == g.arg(b, 0))
    return make(g, op::sub, g.arg(a, 1), g.arg(b, 1));
  return no_node;
}

constexpr node_id mul(graph& g, node_id a, node_id b) {
  if (is_number(g, a, 1)) return b;
  if (is_number(g, b, 1)) return a;
  if (is_number(g, a, -1)) return make(g, op::neg, b);
  if (is_number(g, b, -1)) return make(g, op::neg, a);
  if (integral(g, a) && (is_number(g, a, 0) || is_number(g, b, 0))) return integer(g, 0, g.type(a));
  for (int k = 0; k < 2; ++k) {
    const node_id mask = k == 0 ? a : b, other = k == 0 ? b : a;
    if (g.kind(mask) == op::cast && g.type(g.arg(mask, 0)) == element::boolean)
      return make(g, op::select, g.arg(mask, 0), other, number_like(g, other, 0));
    // A factor goes into a selection that yields zero otherwise, so that sums can see the condition.
    if (g.kind(mask) == op::select && is_number(g, g.arg(mask, 2), 0))
      return make(g, op::select, g.arg(mask, 0), make(g, op::mul, g.arg(mask, 1), other), g.arg(mask, 2));
    if (g.kind(mask) == op::neg) return make(g, op::neg, make(g, op::mul, g.arg(mask, 0), other));
  }
  return no_node;
}

constexpr node_id div(graph& g, node_id a, node_id b) {
  if (is_number(g, b, 1)) return a;
  if (g.kind(a) == op::neg) return make(g, op::neg, make(g, op::div, g.arg(a, 0), b));
  // Only by a number that is not 0: a mean of no numbers is 0 / 0.
  const bool by_number = is_constant(g, b) && (real_value(g, b) < 0 || real_value(g, b) > 0);
  if (by_number && g.kind(a) == op::select && is_number(g, g.arg(a, 2), 0))
    return make(g, op::select, g.arg(a, 0), make(g, op::div, g.arg(a, 1), b), g.arg(a, 2));
  return no_node;
}

// Of what is divided already: x / 9 / 3 is x / 27, and x % 9 % 3 is x % 3.
constexpr node_id divided(graph& g, op kind, node_id a, node_id b) {
  if (!integral(g, a)) return no_node;
  const bool whole = kind == op::quotient;
  if (whole && is_number(g, b, 1)) return a;
  if (g.kind(a) != kind || !is_constant(g, b) || !is_constant(g, g.arg(a, 1))) return no_node;
  const std::int64_t inner = g[g.arg(a, 1)].attribute, outer = g[b].attribute;
  if (inner < 1 || outer < 1 || inner > INT32_MAX || outer > INT32_MAX || g.type(a) != element::i64) return no_node;
  if (whole) return make(g, kind, g.arg(a, 0), integer(g, inner * outer));
  return inner % outer == 0 ? make(g, kind, g.arg(a, 0), b) : no_node;
}

constexpr node_id logical(graph& g, op kind, node_id a, node_id b) {
  const bool both = kind == op::logical_and;
  if (a == b) return a;
  for (int k = 0; k < 2; ++k) {
    const node_id x = k == 0 ? a : b, other = k == 0 ? b : a;
    if (is_true(g, x)) return both ? other : x;
    if (is_false(g, x)) return both ? x : other;
    if (g.kind(x) == op::logical_not && g.arg(x, 0) == other) return truth(g, !both);
    if (both && g.kind(x) == op::logical_and && g.arg(x, 0) == other) return x;
    if (both && g.kind(x) == op::logical_and && g.arg(x, 1) == other && (k == 0 || !may_fail(g, g.arg(x, 0)))) return x;
  }
  return no_node;
}

constexpr node_id compare(graph& g, op kind, node_id a, node_id b) {
  if (a == b && integral(g, a)) return truth(g, kind == op::equal || kind == op::less_equal);
  if (kind == op::less && g.kind(a) == op::remainder && g.arg(a, 1) == b && integral(g, a) && !may_fail(g, a))
    return make(g, op::less, integer(g, 0, g.type(b)), b);  // by 0 it is 0, by less not above 0
  return no_node;
}

constexpr node_id select(graph& g, node_id c, node_id a, node_id b) {
  if (is_true(g, c) || a == b) return a;
  if (is_false(g, c)) return b;
  if (g.kind(c) == op::logical_not) return make(g, op::select, g.arg(c, 0), b, a);
  if (g.kind(a) == op::select && g.arg(a, 2) == b)
    return make(g, op::select, conjunction(g, c, g.arg(a, 0)), g.arg(a, 1), b);
  if (g.kind(a) == op::select && g.arg(a, 0) == c) return make(g, op::select, c, g.arg(a, 1), b);
  if (g.kind(b) == op::select && g.arg(b, 0) == c) return make(g, op::select, c, a, g.arg(b, 2));
  if (g.type(a) == element::boolean && is_true(g, a) && is_false(g, b)) return c;
  return no_node;
}

constexpr node_id unary(graph& g, op kind, node_id a) {
  if (kind == op::neg && g.kind(a) == op::neg) return g.arg(a, 0);
  if (kind == op::neg && g.kind(a) == op::sub) return make(g, op::sub, g.arg(a, 1), g.arg(a, 0));
  if (kind == op::neg && integral(g, a) && g.kind(a) == op::add && is_constant(g, g.arg(a, 1)))
    return make(g, op::sub, make(g, op::neg, g.arg(a, 0)), g.arg(a, 1));
  if (kind == op::neg && g.kind(a) == op::select && is_number(g, g.arg(a, 2), 0))
    return make(g, op::select, g.arg(a, 0), make(g, op::neg, g.arg(a, 1)), g.arg(a, 2));
  if (kind == op::logical_not && g.kind(a) == op::logical_not) return g.arg(a, 0);
  if (integral(g, a) && (kind == op::floor || kind == op::ceil || kind == op::round)) return a;
  return no_node;
}

// What an operation on bits is of one bit.
constexpr op of_truths(op kind) {
  switch (kind) {
    case op::bit_not: return op::logical_not;
    case op::bit_and: return op::logical_and;
    case op::bit_or: return op::logical_or;
    case op::bit_xor: return op::not_equal;
    default: return kind;
  }
}

constexpr node_id simplify(graph& g, op kind, node_id a, node_id b, node_id c) {
  switch (kind) {
    case op::add: return add(g, a, b);
    case op::sub: return sub(g, a, b);
    case op::mul: return mul(g, a, b);
    case op::div: return div(g, a, b);
    case op::quotient:
    case op::remainder: return divided(g, kind, a, b);
    case op::pow: return is_number(g, b, 1) ? a : is_number(g, b, 2) ? make(g, op::mul, a, a) : no_node;
    case op::logical_and:
    case op::logical_or: return logical(g, kind, a, b);
    case op::minimum:
    case op::maximum: return a == b ? a : no_node;
    case op::equal:
    case op::not_equal:
    case op::less:
    case op::less_equal: return compare(g, kind, a, b);
    case op::select: return select(g, a, b, c);
    default: return unary(g, kind, a);
  }
}

}  // namespace rules

}  // namespace sheaf::inline v0_1
