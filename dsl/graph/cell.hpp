// The value of one node in the slow evaluator, and what one op makes of such values: f64 for floating types, i64
// wrapped to the node's width for the others. Shown by tests/static/evaluate.cpp.
#pragma once
#include <sheaf/dsl/graph/make.hpp>

namespace sheaf::inline v0_1 {

struct cell {
  double real = 0;
  std::int64_t integer = 0;
};

namespace cells {

constexpr cell constant(const graph& g, node_id n) {
  const std::int64_t bits = g[n].attribute;
  return is_floating(g.type(n)) ? cell{std::bit_cast<double>(bits), 0} : cell{0, bits};
}

constexpr bool is_nonzero(element type, const cell& c) { return is_floating(type) ? c.real != 0 : c.integer != 0; }

constexpr cell converted(cell c, element from, element to) {
  if (is_floating(from)) return is_floating(to) ? c : cell{0, truncate_to(to, c.real)};
  return is_floating(to) ? cell{real_of(to, c.integer, from), 0} : c;
}

// What is asked to be the same: of f16 and bf16, which are computed in f32, what would be stored.
constexpr bool is_asked_as_stored(op kind, element type) {
  return (kind == op::equal || kind == op::not_equal) && is_half(type);
}

constexpr cell elementwise(const graph& g, node_id n, cell (&c)[3]) {
  const op_row& w = row(g.kind(n));
  for (int k = 0; k < w.arity; ++k)
    if (const element type = g.type(g.arg(n, k)); is_asked_as_stored(g.kind(n), type))
      c[k].real = round_to(type, c[k].real);
  bool real = w.integer == nullptr;
  for (int k = 0; k < w.arity; ++k) real = real || is_floating(g.type(g.arg(n, k)));
  for (int k = 0; k < w.arity; ++k)
    if (const element type = g.type(g.arg(n, k)); real && !is_floating(type))
      c[k].real = real_of(element::f64, c[k].integer, type);
  const element type = g.type(g.arg(n, 0));
  if (!real) return {0, whole_result(w, type, c[0].integer, c[1].integer, c[2].integer)};
  const double r = w.real(c[0].real, c[1].real, c[2].real);
  return is_floating(g.type(n)) ? cell{r, 0} : cell{0, static_cast<std::int64_t>(r)};
}

// As the node holds it: constants and casts round to their type, and every op where `rounds` asks for it.
constexpr cell finished(const graph& g, node_id n, cell c, bool rounds) {
  const element type = g.type(n);
  if (!is_floating(type)) return {0, wrap_to(type, c.integer)};
  rounds = rounds || g.kind(n) == op::constant || g.kind(n) == op::cast;
  return {rounds ? round_to(type, c.real) : c.real, 0};
}

// An expression of operands, which change from call to call: nothing of it is kept.
constexpr cell applied(const graph& g, node_id e, const cell* operands, bool rounds) {
  if (g.kind(e) == op::operand) return operands[g[e].attribute];
  if (g.kind(e) == op::constant) return constant(g, e);
  cell c[3];
  for (int k = 0; k < g[e].count; ++k) c[k] = applied(g, g.arg(e, k), operands, rounds);
  const element first = g.type(g.arg(e, 0));
  if (g.kind(e) == op::cast) return finished(g, e, converted(c[0], first, g.type(e)), rounds);
  if (g.kind(e) == op::select) {
    const int taken = is_nonzero(first, c[0]) ? 1 : 2;
    return finished(g, e, converted(c[taken], g.type(g.arg(e, taken)), g.type(e)), rounds);
  }
  return finished(g, e, elementwise(g, e, c), rounds);
}

}  // namespace cells

}  // namespace sheaf::inline v0_1
