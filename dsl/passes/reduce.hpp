// Pass `reduce`, the smart constructor of reductions. It brings conditions out of the body, resolves equalities that fix
// a bound index (the Kronecker deltas of gradients and one-hot products), narrows ranges by affine conditions, joins
// nested sums, hoists factors, and drops indices nothing depends on.
// Input: a body, a condition and bound indices. Output: an equal expression. Shown by tests/static/deltas.cpp.
#pragma once
#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/dsl/graph/substitute.hpp>

namespace sheaf {

struct reduction {
  monoid kind;
  node_id body;
  node_id condition;
  flat<node_id> indices;
};

namespace deltas {

constexpr void conjuncts(const graph& g, node_id condition, flat<node_id>& list) {
  if (g.kind(condition) == op::logical_and) {
    conjuncts(g, g.arg(condition, 0), list);
    conjuncts(g, g.arg(condition, 1), list);
  } else if (!is_true(g, condition)) {
    list.push(condition);
  }
}

constexpr node_id conjunction_without(graph& g, const flat<node_id>& list, int left_out) {
  node_id all = truth(g, true);
  for (int i = 0; i < list.size(); ++i)
    if (i != left_out) all = conjunction(g, all, list[i]);
  return all;
}

// May idx be replaced by e? No other bound index in e may take its range from idx.
constexpr bool solvable(graph& g, const reduction& r, node_id idx, node_id e) {
  const int o = g.ordinal(idx);
  if (g.free[e].has(o)) return false;
  for (int k = 0; k < r.indices.size(); ++k) {
    const node_id other = r.indices[k];
    if (other != idx && g.free[e].has(g.ordinal(other)) && g.free[other].has(o)) return false;
  }
  return true;
}

constexpr void remove_index(graph& g, reduction& r, node_id idx, node_id e) {
  substitution put(g, &idx, &e, 1);
  r.body = put(r.body);
  r.condition = conjunction(g, put(r.condition), range_condition(g, e, g.arg(idx, 0), g.arg(idx, 1)));
  flat<node_id> rest;
  for (int k = 0; k < r.indices.size(); ++k)
    if (r.indices[k] != idx) rest.push(put(r.indices[k]));
  r.indices = rest;
}

// One equality `slope * idx + rest == 0` of the condition, solved for a bound index; unit slopes first.
constexpr bool resolve_equality(graph& g, reduction& r) {
  flat<node_id> list;
  conjuncts(g, r.condition, list);
  for (int pass = 0; pass < 2; ++pass)
    for (int i = 0; i < list.size(); ++i) {
      if (g.kind(list[i]) != op::equal || is_floating(g.type(g.arg(list[i], 0)))) continue;
      for (int k = 0; k < r.indices.size(); ++k) {
        const node_id idx = r.indices[k];
        const line a = split_affine(g, g.arg(list[i], 0), idx), b = split_affine(g, g.arg(list[i], 1), idx);
        const std::int64_t slope = a.slope - b.slope;
        const bool unit = slope == 1 || slope == -1;
        if (!a.affine || !b.affine || slope == 0 || unit != (pass == 0)) continue;
        const node_id other = slope > 0 ? make(g, op::sub, b.rest, a.rest) : make(g, op::sub, a.rest, b.rest);
        const node_id step = integer(g, slope > 0 ? slope : -slope);
        const node_id e = make(g, op::quotient, other, step);
        if (!solvable(g, r, idx, e)) continue;
        r.condition = conjunction_without(g, list, i);
        if (!unit)
          r.condition = conjunction(g, r.condition, make(g, op::equal, make(g, op::remainder, other, step), integer(g, 0)));
        remove_index(g, r, idx, e);
        return true;
      }
    }
  return false;
}

// slope * idx + rest <= 0 (or < 0) bounds idx from one side.
constexpr bool narrow_range(graph& g, reduction& r) {
  flat<node_id> list;
  conjuncts(g, r.condition, list);
  for (int i = 0; i < list.size(); ++i) {
    const op kind = g.kind(list[i]);
    if ((kind != op::less && kind != op::less_equal) || is_floating(g.type(g.arg(list[i], 0)))) continue;
    for (int k = 0; k < r.indices.size(); ++k) {
      const node_id idx = r.indices[k];
      const line a = split_affine(g, g.arg(list[i], 0), idx), b = split_affine(g, g.arg(list[i], 1), idx);
      const std::int64_t slope = a.slope - b.slope;
      if (!a.affine || !b.affine || slope == 0) continue;
      // slope * idx <= room
      const node_id room = make(g, op::add, make(g, op::sub, b.rest, a.rest), integer(g, kind == op::less ? -1 : 0));
      if (!solvable(g, r, idx, room)) continue;
      node_id low = g.arg(idx, 0), high = g.arg(idx, 1);
      const node_id one = integer(g, 1);
      if (slope > 0) {
        const node_id top = make(g, op::add, make(g, op::quotient, room, integer(g, slope)), one);
        high = known_less_equal(g, high, top) ? high : known_less_equal(g, top, high) ? top : make(g, op::minimum, high, top);
      } else {
        const node_id floor = make(g, op::neg, make(g, op::quotient, room, integer(g, -slope)));
        low = known_less_equal(g, floor, low) ? low : known_less_equal(g, low, floor) ? floor : make(g, op::maximum, low, floor);
      }
      const node_id narrowed = index(g, index_name(g, idx), index_serial(g, idx), low, high);
      r.condition = conjunction_without(g, list, i);
      if (narrowed == idx) return true;
      substitution put(g, &idx, &narrowed, 1);
      r.body = put(r.body);
      r.condition = put(r.condition);
      for (int j = 0; j < r.indices.size(); ++j) r.indices[j] = r.indices[j] == idx ? narrowed : put(r.indices[j]);
      return true;
    }
  }
  return false;
}

}  // namespace deltas

namespace rules {

// A body that is the identity where a condition fails belongs under the condition.
constexpr bool lift_condition(graph& g, reduction& r) {
  if (g.kind(r.body) == op::select && g.arg(r.body, 2) == identity_of(g, r.kind, g.type(r.body))) {
    r.condition = conjunction(g, r.condition, g.arg(r.body, 0));
    r.body = g.arg(r.body, 1);
    return true;
  }
  if (r.kind == monoid::sum && g.kind(r.body) == op::cast && g.type(g.arg(r.body, 0)) == element::boolean) {
    r.condition = conjunction(g, r.condition, g.arg(r.body, 0));
    r.body = number_like(g, r.body, 1);
    return true;
  }
  return false;
}

// sum(i, sum(j, e)) is one sum over both.
constexpr bool join_nested(graph& g, reduction& r) {
  if (g.kind(r.body) != op::reduce || monoid_of(g, r.body) != r.kind) return false;
  for (int k = 2; k < g[r.body].count; ++k)
    if (r.indices.contains(g.arg(r.body, k)) || g.free[r.condition].has(g.ordinal(g.arg(r.body, k)))) return false;
  for (int k = 2; k < g[r.body].count; ++k) r.indices.push(g.arg(r.body, k));
  r.condition = conjunction(g, r.condition, g.arg(r.body, 1));
  r.body = g.arg(r.body, 0);
  return true;
}

constexpr node_id size_of(graph& g, node_id idx) {
  const node_id size = make(g, op::sub, g.arg(idx, 1), g.arg(idx, 0));
  const bool counted = known_less_equal(g, g.arg(idx, 0), g.arg(idx, 1));
  return counted ? size : make(g, op::maximum, size, integer(g, 0));
}

// An index that neither body nor condition nor another range depends on: a multiple for sums, nothing for idempotent
// monoids (unless its range is empty, which is why only ranges known not to be are dropped).
constexpr bool drop_index(graph& g, reduction& r, node_id& factor) {
  for (int k = 0; k < r.indices.size(); ++k) {
    const int o = g.ordinal(r.indices[k]);
    bool used = g.free[r.body].has(o) || g.free[r.condition].has(o);
    for (int j = 0; j < r.indices.size(); ++j) used = used || (j != k && g.free[r.indices[j]].has(o));
    if (used || r.kind != monoid::sum) continue;
    const index_set range = g.free[r.indices[k]];
    bool nested = false;
    for (int j = 0; j < r.indices.size(); ++j) nested = nested || (j != k && range.has(g.ordinal(r.indices[j])));
    const node_id size = size_of(g, r.indices[k]);
    if (nested)
      r.body = make(g, op::mul, r.body, cast_to(g, g.type(r.body), size));
    else
      factor = factor == no_node ? size : make(g, op::mul, factor, size);
    flat<node_id> rest;
    for (int j = 0; j < r.indices.size(); ++j)
      if (j != k) rest.push(r.indices[j]);
    r.indices = rest;
    return true;
  }
  return false;
}

// Factors, divisors and signs that no bound index reaches leave a sum.
constexpr bool hoist(graph& g, reduction& r, node_id& multiple, node_id& divisor) {
  if (r.kind != monoid::sum || !is_floating(g.type(r.body))) return false;
  index_set bound;
  for (int k = 0; k < r.indices.size(); ++k) bound.insert(g.ordinal(r.indices[k]));
  const op kind = g.kind(r.body);
  const auto outside = [&](node_id e) { return !g.free[e].meets(bound); };
  if (kind == op::neg) {
    multiple = make(g, op::neg, multiple == no_node ? number_like(g, r.body, 1) : multiple);
    r.body = g.arg(r.body, 0);
    return true;
  }
  if (kind == op::div && outside(g.arg(r.body, 1))) {
    divisor = divisor == no_node ? g.arg(r.body, 1) : make(g, op::mul, divisor, g.arg(r.body, 1));
    r.body = g.arg(r.body, 0);
    return true;
  }
  if (kind != op::mul) return false;
  for (int k = 0; k < 2; ++k) {
    if (!outside(g.arg(r.body, k)) || is_number(g, g.arg(r.body, 1 - k), 1)) continue;
    multiple = multiple == no_node ? g.arg(r.body, k) : make(g, op::mul, multiple, g.arg(r.body, k));
    r.body = g.arg(r.body, 1 - k);
    return true;
  }
  return false;
}

// Takes the part of the condition that no bound index reaches.
constexpr node_id take_outer_condition(graph& g, reduction& r) {
  index_set bound;
  for (int k = 0; k < r.indices.size(); ++k) bound.insert(g.ordinal(r.indices[k]));
  flat<node_id> list;
  deltas::conjuncts(g, r.condition, list);
  node_id outer = truth(g, true), inner = outer;
  for (const node_id c : list) (g.free[c].meets(bound) ? inner : outer) = conjunction(g, g.free[c].meets(bound) ? inner : outer, c);
  r.condition = inner;
  return outer;
}

constexpr node_id intern_reduce(graph& g, const reduction& r, element type) {
  flat<node_id> list;
  list.push(r.body);
  list.push(r.condition);
  for (const node_id idx : r.indices) list.push(idx);
  return g.intern(op::reduce, type, static_cast<std::int64_t>(r.kind), list.data(), list.size());
}

constexpr node_id finish(graph& g, reduction& r, element type) {
  const node_id outer = take_outer_condition(g, r);
  node_id result = r.body;
  if (!r.indices.empty()) result = intern_reduce(g, r, type);
  return make(g, op::select, outer, result, identity_of(g, r.kind, type));
}

}  // namespace rules

constexpr node_id reduce(graph& g, monoid kind, node_id body, node_id condition, const node_id* indices, int count) {
  reduction r{kind, body, condition, {}};
  for (int k = 0; k < count; ++k)
    if (!r.indices.contains(indices[k])) r.indices.push(indices[k]);
  if (row(kind).boolean && g.type(r.body) != element::boolean) r.body = make(g, op::not_equal, r.body, number_like(g, r.body, 0));
  const element type = reduced_type(kind, g.type(r.body));
  if (row(kind).position) return rules::intern_reduce(g, r, type);
  r.body = cast_to(g, type, r.body);
  if (kind == monoid::sum && is_number(g, r.body, 0)) return r.body;
  if (is_false(g, r.condition)) return identity_of(g, kind, type);
  node_id factor = no_node, multiple = no_node, divisor = no_node;
  while (rules::lift_condition(g, r) || deltas::resolve_equality(g, r) || deltas::narrow_range(g, r) ||
         rules::join_nested(g, r) || rules::drop_index(g, r, factor) || rules::hoist(g, r, multiple, divisor)) {
    if (is_false(g, r.condition)) return identity_of(g, kind, type);
  }
  node_id result = rules::finish(g, r, type);
  if (factor != no_node) result = make(g, op::mul, result, cast_to(g, type, factor));
  if (multiple != no_node) result = make(g, op::mul, multiple, result);
  return divisor == no_node ? result : make(g, op::div, result, divisor);
}

}  // namespace sheaf
