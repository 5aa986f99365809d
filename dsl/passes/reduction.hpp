// A reduction in the making, as the rules of reduce.hpp see it: its condition as a list, what stands within, and its
// bound indices under other names or replaced. Shown by tests/static/deltas.cpp.
#pragma once
#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/dsl/graph/substitute.hpp>

namespace sheaf::inline v0_1 {

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

constexpr index_set bound_set(const graph& g, const reduction& r) {
  index_set bound;
  for (const node_id idx : r.indices) bound.insert(g.ordinal(idx));
  return bound;
}

// Can computing the range of an index fail?
constexpr bool range_may_fail(graph& g, node_id idx) {
  return may_fail(g, g.arg(idx, 0)) || may_fail(g, g.arg(idx, 1));
}

// All that stands within the reduction.
constexpr index_set mentioned(const graph& g, const reduction& r) {
  index_set all = g.free[r.body];
  all |= g.free[r.condition];
  for (const node_id idx : r.indices) all |= g.free[idx];
  return all;
}

// A bound index under a name that nothing within the reduction has.
constexpr node_id distinct(graph& g, const reduction& r, node_id old, node_id low, node_id high) {
  const index_set taken = mentioned(g, r);
  for (int serial = index_serial(g, old);; ++serial) {
    const node_id made = index(g, index_name(g, old), serial, low, high);
    if (!taken.has(g.ordinal(made))) return made;
  }
}

// sum(u.in(j, j + 1), sum(j, f(j, u))): the u within has its range from the outer j. The inner one takes another name,
// or the sets of free indices would lose the outer.
constexpr void separate(graph& g, reduction& r) {
  const index_set bound = bound_set(g, r), all = mentioned(g, r);
  flat<node_id> from, to;
  for (int o = 0; o < g.indices.size(); ++o)
    if (all.has(o) && !bound.has(o) && g.free[g.indices[o]].meets(bound)) from.push(g.indices[o]);
  if (from.empty()) return;
  to = from;                                    // these stay as they are
  for (int o = 0; o < g.indices.size(); ++o) {  // a range is older than what is made of it
    if (!bound.has(o)) continue;
    const node_id old = g.indices[o];
    substitution put(g, from.data(), to.data(), from.size());
    const node_id low = put(g.arg(old, 0)), high = put(g.arg(old, 1));
    from.push(old);
    to.push(distinct(g, r, old, low, high));
  }
  substitution put(g, from.data(), to.data(), from.size());
  r.body = put(r.body);
  r.condition = put(r.condition);
  for (int k = 0; k < r.indices.size(); ++k) r.indices[k] = put(r.indices[k]);
}

constexpr void put_everywhere(graph& g, reduction& r, node_id from, node_id to) {
  r.body = substitute(g, r.body, from, to);
  r.condition = substitute(g, r.condition, from, to);
  for (int k = 0; k < r.indices.size(); ++k) r.indices[k] = substitute(g, r.indices[k], from, to);
}

// Replaces idx by e in the body, the condition and the ranges. An index whose range becomes that of one which is there
// already takes another name first.
constexpr void replace(graph& g, reduction& r, node_id idx, node_id e) {
  for (int k = 0; k < r.indices.size(); ++k) {
    const node_id old = r.indices[k];
    if (old == idx || !g.free[old].has(g.ordinal(idx))) continue;
    if (!mentioned(g, r).has(g.ordinal(substitute(g, old, idx, e)))) continue;
    put_everywhere(g, r, old, distinct(g, r, old, g.arg(old, 0), g.arg(old, 1)));
    --k;  // the new name may meet another
  }
  put_everywhere(g, r, idx, e);
}

}  // namespace deltas

namespace rules {

constexpr node_id size_of(graph& g, node_id idx) {
  const node_id size = make(g, op::sub, g.arg(idx, 1), g.arg(idx, 0));
  const bool counted = known_less_equal(g, g.arg(idx, 0), g.arg(idx, 1));
  return counted ? size : make(g, op::maximum, size, integer(g, 0));
}

}  // namespace rules
}  // namespace sheaf::inline v0_1
