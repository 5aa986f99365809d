// Smart constructors: type promotion, constant folding and local identities, then interning. Every pass builds through
// them, so no graph ever holds what a rule of simplify.hpp removes. Shown by tests/static/integers.cpp, tests/gradient.
#pragma once
#include <sheaf/dsl/graph/simplify.hpp>

namespace sheaf::inline v0_1 {

constexpr node_id cast_to(graph& g, element type, node_id a) {
  if (g.type(a) == type) return a;
  // What masks or pads a half is seen where it is one number of f32.
  if (is_half(g.type(a)) && is_floating(type) && g.kind(a) == op::select && is_constant(g, g.arg(a, 2)))
    return make(g, op::select, g.arg(a, 0), cast_to(g, type, g.arg(a, 1)), cast_to(g, type, g.arg(a, 2)));
  if (is_constant(g, a)) {
    if (is_floating(g.type(a))) return number(g, type, real_value(g, a));
    const std::int64_t value = g[a].attribute;
    return is_floating(type) ? number(g, type, real_of(type, value, g.type(a))) : integer(g, value, type);
  }
  return g.intern(op::cast, type, 0, &a, 1);
}

// Worth `value`, with the derivative of `path`.
constexpr node_id graft(graph& g, node_id value, node_id path) {
  const node_id list[2] = {value, cast_to(g, g.type(value), path)};
  return g.intern(op::stop_gradient, g.type(value), 0, list, 2);
}

constexpr node_id make(graph& g, op kind, node_id a, node_id b, node_id c) {
  const op_row& w = row(kind);
  node_id list[3] = {a, b, c};
  const int first = kind == op::select ? 1 : 0;
  element type = g.type(list[first]);
  for (int k = first; k < w.arity; ++k) type = promote(type, g.type(list[k]));
  if (w.result == result_type::floating && !is_floating(type)) type = element::f32;
  // Logic is on booleans, arithmetic on numbers: false and true count as 0 and 1.
  const bool logic = kind == op::logical_and || kind == op::logical_or || kind == op::logical_not;
  if (logic) type = element::boolean;
  if (const op same = rules::of_truths(kind); type == element::boolean && same != kind) return make(g, same, a, b);
  const bool arithmetic = kind >= op::add && kind <= op::shift_right;
  if ((arithmetic || kind == op::neg) && type == element::boolean) type = element::i64;
  for (int k = first; k < w.arity; ++k) list[k] = logic && g.type(list[k]) != element::boolean
                                                      ? make(g, op::not_equal, list[k], number_like(g, list[k], 0))
                                                      : cast_to(g, type, list[k]);
  if (kind == op::select && g.type(a) != element::boolean) list[0] = make(g, op::not_equal, a, number_like(g, a, 0));
  const element result = w.result == result_type::boolean ? element::boolean : type;
  if (const node_id folded = rules::fold(g, kind, result, list, w.arity); folded != no_node) return folded;
  if (const node_id simpler = rules::simplify(g, kind, list[0], list[1], list[2]); simpler != no_node) return simpler;
  if (w.commutative) {
    const node_id swapped[2] = {list[1], list[0]};
    const bool ordered = w.result == result_type::boolean && logic && may_fail(g, list[1]);  // list[0] may guard it
    if (!ordered && g.known(kind, result, swapped, 2)) return g.intern(kind, result, 0, swapped, 2);
  }
  return g.intern(kind, result, 0, list, w.arity);
}

constexpr bool has_conjunct(const graph& g, node_id all, node_id one) {
  if (all == one) return true;
  return g.kind(all) == op::logical_and && (has_conjunct(g, g.arg(all, 1), one) || has_conjunct(g, g.arg(all, 0), one));
}
// a && b, leaning to the left, without what a says already.
constexpr node_id conjunction(graph& g, node_id a, node_id b) {
  if (g.kind(b) == op::logical_and) return conjunction(g, conjunction(g, a, g.arg(b, 0)), g.arg(b, 1));
  return has_conjunct(g, a, b) ? a : make(g, op::logical_and, a, b);
}

// ---- tensors

// Of a load's attribute, beside the surface's access: the planner knows that its subscripts are inside wherever it is
// evaluated. A load that is proven is another node than one that is not.
inline constexpr std::int64_t proven_inside = 4;
constexpr bool is_proven(const graph& g, node_id n) {
  return g.kind(n) == op::load && (g[n].attribute & proven_inside) != 0;
}
constexpr node_id proven(graph& g, node_id load) {
  const node n = g[load];
  if (n.kind != op::load) return load;
  flat<node_id> list;
  for (int k = 0; k < n.count; ++k) list.push(g.arg(load, k));
  return g.intern(n.kind, n.type, n.attribute | proven_inside, list.data(), n.count);
}

constexpr node_id load(graph& g, node_id tensor, const node_id* subscripts, int rank) {
  flat<node_id> list;
  list.push(tensor);
  for (int d = 0; d < rank; ++d) list.push(subscripts[d]);
  return g.intern(op::load, g.type(tensor), 0, list.data(), list.size());
}

constexpr node_id index(graph& g, name_id name, int serial, node_id low, node_id high) {
  const node_id bounds[2] = {low, high};
  return g.intern(op::index, element::i64, std::int64_t{name} * 65536 + serial, bounds, 2);
}
constexpr name_id index_name(const graph& g, node_id idx) { return static_cast<name_id>(g[idx].attribute / 65536); }
constexpr int index_serial(const graph& g, node_id idx) { return static_cast<int>(g[idx].attribute % 65536); }
// An axis that has no range yet: as the surface writes it, before resolve.hpp.
constexpr node_id unbound_axis(graph& g, name_id name, int serial = 0) {
  return g.intern(op::index, element::i64, std::int64_t{name} * 65536 + serial, nullptr, 0);
}
constexpr bool is_unbound(const graph& g, node_id idx) { return g.kind(idx) == op::index && g[idx].count == 0; }

constexpr int tensor_rank(const graph& g, node_id tensor) {
  return g.kind(tensor) == op::input ? g.inputs[static_cast<int>(g[tensor].attribute)].rank : g[tensor].count - 1;
}

// Of an input's dimension in static_extents.
constexpr int dimension_place(const graph& g, node_id input, int dimension) {
  return g.inputs[static_cast<int>(g[input].attribute)].first_extent + dimension;
}

// The extent of a dimension: a number where it is static, for a definition the size of its index's range.
constexpr node_id extent(graph& g, node_id tensor, int dimension) {
  if (g.kind(tensor) == op::define) {
    const node_id idx = g.arg(tensor, 1 + dimension);
    return make(g, op::sub, g.arg(idx, 1), g.arg(idx, 0));
  }
  const std::int64_t known = g.static_extents[dimension_place(g, tensor, dimension)];
  if (known != dynamic) return integer(g, known);
  return g.intern(op::extent, element::i64, dimension, &tensor, 1);
}

// The extent where it is static, else `dynamic`.
constexpr std::int64_t static_extent(const graph& g, node_id tensor, int dimension) {
  if (g.kind(tensor) != op::define) return g.static_extents[dimension_place(g, tensor, dimension)];
  const node_id idx = g.arg(tensor, 1 + dimension), low = g.arg(idx, 0), high = g.arg(idx, 1);
  return is_constant(g, low) && is_constant(g, high) ? g[high].attribute - g[low].attribute : dynamic;
}
// Is a subscript a number outside of the tensor, whatever the extents of a call?
constexpr bool is_outside(const graph& g, node_id tensor, int dimension, node_id subscript) {
  if (!is_constant(g, subscript)) return false;
  const std::int64_t value = g[subscript].attribute, size = static_extent(g, tensor, dimension);
  return value < 0 || (size != dynamic && value >= size);
}

constexpr node_id define(graph& g, name_id name, node_id body, const node_id* indices, int rank) {
  flat<node_id> list;
  list.push(body);
  for (int d = 0; d < rank; ++d) list.push(indices[d]);
  return g.intern(op::define, g.type(body), name, list.data(), list.size());
}

// symbol: what stands for an input whose name is automatic; null where the name says which input it is.
constexpr node_id input(graph& g, name_id name, element type, int rank, const std::int64_t* extents,
                        const char* symbol = nullptr) {
  for (int i = 0; i < g.inputs.size(); ++i)
    if (g.inputs[i].symbol == symbol && (symbol != nullptr || g.inputs[i].name == name))
      return g.intern(op::input, g.inputs[i].type, i, nullptr, 0);
  const input_row added{name, type, rank, g.static_extents.size(), symbol};
  for (int d = 0; d < rank; ++d) g.static_extents.push(extents[d]);
  return g.intern(op::input, type, g.inputs.push(added), nullptr, 0);
}

// Before a program is differentiated: with which numbers it subscripts its inputs.
constexpr void note_numbers_read(graph& g) {
  if (!g.largest_read.empty()) return;
  g.largest_read.resize(g.static_extents.size() + 1, -1);  // never empty again
  for (node_id n = 0; n < g.size(); ++n)
    for (int d = 0; g.kind(n) == op::load && g.kind(g.arg(n, 0)) == op::input && d + 1 < g[n].count; ++d) {
      std::int64_t& most = g.largest_read[dimension_place(g, g.arg(n, 0), d)];
      if (is_constant(g, g.arg(n, 1 + d)) && g[g.arg(n, 1 + d)].attribute > most) most = g[g.arg(n, 1 + d)].attribute;
    }
}

// Is a number checked before a launch as a subscript of the dimension? One that a derivative made of an index, and the
// program does not have, may be behind a guard.
constexpr bool is_safe_number(const graph& g, node_id tensor, int dimension, std::int64_t number) {
  if (g.kind(tensor) != op::input || number < 0) return false;
  const int place = dimension_place(g, tensor, dimension);
  if (g.static_extents[place] != dynamic) return number < g.static_extents[place];
  return g.largest_read.empty() || (place < g.largest_read.size() && number <= g.largest_read[place]);
}

// An index that stays within the dimension, as it is or shifted by a number, as in off(s + 1); or a number.
constexpr bool is_safe_subscript(graph& g, node_id tensor, int dimension, node_id e) {
  if (is_constant(g, e)) return is_safe_number(g, tensor, dimension, g[e].attribute);
  const bool shifted = g.kind(e) == op::add && is_constant(g, g.arg(e, 1));
  const node_id idx = shifted ? g.arg(e, 0) : e;
  if (g.kind(idx) != op::index || is_unbound(g, idx) || !is_constant(g, g.arg(idx, 0))) return false;
  const std::int64_t shift = shifted ? g[g.arg(e, 1)].attribute : 0;
  if (g[g.arg(idx, 0)].attribute + shift < 0) return false;
  const node_id high = shifted ? make(g, op::add, g.arg(idx, 1), g.arg(e, 1)) : g.arg(idx, 1);
  const node_id size = extent(g, tensor, dimension);
  if (high == size) return true;
  if (g.kind(high) == op::add && g.arg(high, 0) == size)
    return is_constant(g, g.arg(high, 1)) && g[g.arg(high, 1)].attribute <= 0;
  return is_constant(g, high) && is_constant(g, size) && g[high].attribute <= g[size].attribute;
}

namespace rules {
constexpr bool find_failure(graph& g, node_id n) {
  const op kind = g.kind(n);
  if (kind == op::index || kind == op::input || kind == op::extent) return false;
  if (kind == op::define) return false;  // it is computed as a whole, under no guard
  if (kind == op::stop_gradient && g[n].count == 3) return true;
  for (int k = 0; k < g[n].count; ++k) {
    const node_id a = g.arg(n, k);
    if (may_fail(g, a)) return true;
    if (kind == op::load && k > 0 && !is_safe_subscript(g, g.arg(n, 0), k - 1, a)) return true;
    if (kind == op::reduce && k > 1 && !is_unbound(g, a) && (may_fail(g, g.arg(a, 0)) || may_fail(g, g.arg(a, 1))))
      return true;
  }
  return false;
}
}  // namespace rules

constexpr bool may_fail(graph& g, node_id n) {
  if (g.fallible[n] >= 0) return g.fallible[n] != 0;
  const bool fails = rules::find_failure(g, n);
  g.fallible[n] = fails;
  return fails;
}

namespace rules {
constexpr bool find_reduction(graph& g, node_id n, std::int32_t epoch) {
  if (g.kind(n) == op::reduce) return true;
  if (!is_elementwise(g.kind(n)) || g.memo_epoch[n] == epoch) return false;
  g.memo_epoch[n] = epoch;
  for (int k = 0; k < g[n].count; ++k)
    if (find_reduction(g, g.arg(n, k), epoch)) return true;
  return false;
}
}  // namespace rules

// Is there a reduction in n, elementwise operations away?
constexpr bool holds_reduction(graph& g, node_id n) { return rules::find_reduction(g, n, g.new_epoch()); }

}  // namespace sheaf::inline v0_1
