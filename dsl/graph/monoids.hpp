// One row per reduction: its algebra. Sums of what fits in a row (mean, logsumexp, ...) are built from these.
// The adjoint of each stands in passes/differentiate.hpp, for it needs reductions itself. Shown by
// tests/numeric/reductions.cpp.
#pragma once
#include <sheaf/dsl/graph/make.hpp>

namespace sheaf::inline v0_1 {

struct monoid_row {
  monoid kind;
  const char* name;
  op combine;        // the elementwise op that joins two partial results; select for argmax and argmin: by position
  double identity;   // the result over nothing; infinities stand for the lowest and highest integer
  bool boolean;      // takes and yields booleans
  bool position;     // yields the position (i64), not the value
  bool idempotent;   // combining a value twice changes nothing
};

inline constexpr monoid_row monoid_rows[] = {
    {monoid::sum, "sum", op::add, 0, false, false, false},
    {monoid::prod, "prod", op::mul, 1, false, false, false},
    {monoid::max, "max", op::maximum, -math::infinity, false, false, true},
    {monoid::min, "min", op::minimum, math::infinity, false, false, true},
    {monoid::any, "any", op::logical_or, 0, true, false, true},
    {monoid::all, "all", op::logical_and, 1, true, false, true},
    {monoid::argmax, "argmax", op::select, -math::infinity, false, true, true},
    {monoid::argmin, "argmin", op::select, math::infinity, false, true, true},
};
static_assert(sizeof(monoid_rows) / sizeof(monoid_row) == static_cast<unsigned>(monoid::count_));

// Of a program's own monoid everything else stands in graph::monoids.
inline constexpr monoid_row own_row = {monoid::count_, "fold", op::count_, math::nan, false, false, false};

constexpr const monoid_row& row(monoid kind) { return is_own(kind) ? own_row : monoid_rows[static_cast<int>(kind)]; }
constexpr monoid monoid_of(const graph& g, node_id reduce) { return static_cast<monoid>(g[reduce].attribute); }

// Sums and products of integers and booleans are i64, as in PyTorch; the rest keep their type.
constexpr element reduced_type(monoid kind, element body) {
  if (row(kind).boolean) return element::boolean;
  if (row(kind).position) return element::i64;
  if ((kind == monoid::sum || kind == monoid::prod) && !is_floating(body)) return element::i64;
  return body;
}

constexpr node_id identity_of(graph& g, monoid kind, element type) {
  if (is_own(kind)) return g.monoids[own_number(kind)].identity;
  const double value = row(kind).identity;
  if (is_floating(type) || (value != math::infinity && value != -math::infinity)) return number(g, type, value);
  return integer(g, value > 0 ? highest_integer(type) : lowest_integer(type), type);
}

// ---- folds of the program's own

constexpr const own_monoid_row& own_row_of(const graph& g, monoid kind) { return g.monoids[own_number(kind)]; }
constexpr bool in_order(const graph& g, monoid kind) { return is_own(kind) && own_row_of(g, kind).in_order; }

// Is the state of this reduction several values, of which it yields one?
constexpr bool folds_tuple(const graph& g, node_id reduce) { return g.kind(g.arg(reduce, 0)) == op::tuple; }
constexpr node_id tuple(graph& g, const flat<node_id>& values) {
  element type = g.type(values[0]);
  for (const node_id v : values) type = promote(type, g.type(v));
  return g.intern(op::tuple, type, 0, values.data(), values.size());
}
// The monoid that yields another value of the same state.
constexpr monoid sibling(const graph& g, monoid kind, int component) {
  return own_kind(own_number(kind) - own_row_of(g, kind).component + component);
}
constexpr flat<node_id> values_of(const graph& g, node_id tuple) {
  flat<node_id> list;
  for (int k = 0; k < g[tuple].count; ++k) list.push(g.arg(tuple, k));
  return list;
}

// An expression of operands for the arguments that they stand for.
constexpr node_id applied(graph& g, node_id e, const node_id* operands) {
  if (g.kind(e) == op::operand) return operands[g[e].attribute];
  if (g.kind(e) == op::constant) return e;
  node_id list[3] = {no_node, no_node, no_node};
  for (int k = 0; k < g[e].count; ++k) list[k] = applied(g, g.arg(e, k), operands);
  return g.kind(e) == op::cast ? cast_to(g, g.type(e), list[0]) : make(g, g.kind(e), list[0], list[1], list[2]);
}
// The same of a large expression, each part once: `epoch` is one of the graph's, for these operands.
constexpr node_id applied_once(graph& g, node_id e, const node_id* operands, std::int32_t epoch) {
  if (g.kind(e) == op::operand) return operands[g[e].attribute];
  if (g.kind(e) == op::constant) return e;
  if (g.memo_epoch[e] == epoch) return g.memo_value[e];
  node_id list[3] = {no_node, no_node, no_node};
  for (int k = 0; k < g[e].count; ++k) list[k] = applied_once(g, g.arg(e, k), operands, epoch);
  const op kind = g.kind(e);
  const node_id result = kind == op::cast            ? cast_to(g, g.type(e), list[0])
                         : kind == op::stop_gradient ? graft(g, list[0], list[1])
                                                     : make(g, kind, list[0], list[1], list[2]);
  g.memo_epoch[e] = epoch;
  g.memo_value[e] = result;
  return result;
}
constexpr node_id applied(graph& g, node_id e, node_id a, node_id b) {
  const node_id operands[2] = {a, b};
  return applied(g, e, operands);
}
// Two partial results as one. Positions have no such expression.
constexpr node_id combined(graph& g, monoid kind, node_id a, node_id b) {
  return is_own(kind) ? applied(g, g.monoids[own_number(kind)].combine, a, b) : make(g, row(kind).combine, a, b);
}
// The same of whole states.
constexpr flat<node_id> combined(graph& g, monoid kind, const flat<node_id>& a, const flat<node_id>& b) {
  flat<node_id> both = a, result;
  for (const node_id v : b) both.push(v);
  for (int k = 0; k < a.size(); ++k) result.push(applied(g, own_row_of(g, sibling(g, kind, k)).combine, both.data()));
  return result;
}

}  // namespace sheaf::inline v0_1
