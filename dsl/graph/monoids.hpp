// One row per reduction: its algebra. Sums of what fits in a row (mean, logsumexp, ...) are built from these.
// The adjoint of each stands in passes/differentiate.hpp, for it needs reductions itself. Shown by tests/numeric/reductions.cpp.
#pragma once
#include <sheaf/dsl/graph/make.hpp>

namespace sheaf {

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
  const int bits = 8 * row(type).bytes - (type == element::u8 ? 0 : 1);
  const std::int64_t highest = bits == 63 ? INT64_MAX : (std::int64_t{1} << bits) - 1;
  if (type == element::boolean) return truth(g, value > 0);
  return integer(g, value > 0 ? highest : type == element::u8 ? 0 : -highest - 1, type);
}

// The combination or adjoint of a program's own monoid for two arguments.
constexpr node_id applied(graph& g, node_id e, node_id a, node_id b) {
  if (g.kind(e) == op::operand) return g[e].attribute == 0 ? a : b;
  if (g.kind(e) == op::constant) return e;
  node_id list[3] = {no_node, no_node, no_node};
  for (int k = 0; k < g[e].count; ++k) list[k] = applied(g, g.arg(e, k), a, b);
  return g.kind(e) == op::cast ? cast_to(g, g.type(e), list[0]) : make(g, g.kind(e), list[0], list[1], list[2]);
}
// Two partial results as one. Positions have no such expression.
constexpr node_id combined(graph& g, monoid kind, node_id a, node_id b) {
  return is_own(kind) ? applied(g, g.monoids[own_number(kind)].combine, a, b) : make(g, row(kind).combine, a, b);
}

}  // namespace sheaf
