// Pass `demands`: nodes that say what must not hold where they are evaluated become demands on the call: closed
// conditions that are checked before anything is written. A demand asks at the positions at which its node is
// evaluated: under every index around it, and behind every guard.
// Input: a whole graph. Output: graph::demands has one more for each such node. Shown by tests/numeric/demands.cpp.
#pragma once
#include <sheaf/dsl/passes/reduce.hpp>

namespace sheaf::inline v0_1 {

class demand_collection {
 public:
  constexpr explicit demand_collection(graph& g) : g_(g), expected_(g.name("at least one element", 20)) {
    for (node_id n = 0; n < g.size(); ++n) {
      bool any = requires_something(n);
      for (int k = 0; k < g[n].count && !any; ++k) any = wants_[g.arg(n, k)];
      wants_.push(any);
    }
  }

  constexpr void operator()(node_id definition) {
    if (done_.contains(definition) || !wants_[definition]) return;
    done_.push(definition);
    flat<node_id> around;
    for (int d = 1; d < g_[definition].count; ++d) around.push(g_.arg(definition, d));
    walk(g_.arg(definition, 0), around, truth(g_, true));
  }

 private:
  constexpr bool requires_something(node_id n) const { return g_.kind(n) == op::stop_gradient && g_[n].count == 3; }

  constexpr void walk(node_id n, const flat<node_id>& around, node_id guard) {
    if (!wants_[n]) return;
    const op kind = g_.kind(n);
    if (kind == op::define) return (*this)(n);
    if (kind == op::reduce) return walk_reduce(n, around, guard);
    if (kind == op::select || kind == op::logical_and || kind == op::logical_or) {
      const node_id test = g_.arg(n, 0);
      walk(test, around, guard);
      walk(g_.arg(n, 1), around, kind == op::logical_or ? unless(guard, test) : conjunction(g_, guard, test));
      if (kind == op::select) walk(g_.arg(n, 2), around, unless(guard, test));
      return;
    }
    const int count = g_[n].count;
    if (requires_something(n)) {
      walk(g_.arg(n, 2), around, guard);
      add(n, around, guard);
      return walk(g_.arg(n, 0), around, guard);
    }
    for (int k = 0; k < count; ++k) walk(g_.arg(n, k), around, guard);
  }
  constexpr node_id unless(node_id guard, node_id test) {
    return conjunction(g_, guard, make(g_, op::logical_not, test));
  }
  constexpr void walk_reduce(node_id n, const flat<node_id>& around, node_id guard) {
    const int count = g_[n].count;
    for (int k = 2; k < count; ++k) {  // a range is walked inside the loops that it depends on
      flat<node_id> outer = around;
      for (int j = 2; j < count; ++j)
        if (j != k && g_.free[g_.arg(n, k)].has(g_.ordinal(g_.arg(n, j))) && !outer.contains(g_.arg(n, j)))
          outer.push(g_.arg(n, j));
      walk(g_.arg(n, k), outer, guard);
    }
    flat<node_id> within = around;
    for (int k = 2; k < count; ++k)
      if (!within.contains(g_.arg(n, k))) within.push(g_.arg(n, k));  // an inner loop may be over an outer one's index
    walk(g_.arg(n, 1), within, guard);
    walk(g_.arg(n, 0), within, conjunction(g_, guard, g_.arg(n, 1)));
  }

  // Of the indices around, those that the condition needs; the others must only have a value at all.
  constexpr void add(node_id n, const flat<node_id>& around, node_id guard) {
    const node_id wrong = g_.arg(n, 2);
    index_set needed = g_.free[wrong];
    needed |= g_.free[guard];
    for (const node_id idx : around)
      if (!g_.free[g_.arg(idx, 0)].empty() || !g_.free[g_.arg(idx, 1)].empty()) needed |= g_.free[idx];
    for (int i = around.size() - 1; i >= 0; --i)
      if (needed.has(g_.ordinal(around[i]))) needed |= g_.free[around[i]];
    flat<node_id> list;
    list.push(wrong);
    list.push(no_node);
    node_id nonempty = truth(g_, true);
    for (const node_id idx : around) {
      if (needed.has(g_.ordinal(idx)))
        list.push(idx);
      else
        nonempty = conjunction(g_, nonempty, make(g_, op::less, g_.arg(idx, 0), g_.arg(idx, 1)));
    }
    list[1] = conjunction(g_, nonempty, guard);
    const node_id closed =
        list.size() == 2
            ? conjunction(g_, list[1], wrong)
            : g_.intern(op::reduce, element::boolean, static_cast<std::int64_t>(monoid::any), list.data(), list.size());
    for (const demand& other : g_.demands)
      if (other.wrong == closed) return;
    g_.demands.push({demanded::elements, static_cast<name_id>(g_[n].attribute), expected_, closed, no_node, no_node});
  }

  graph& g_;
  name_id expected_;
  flat<bool> wants_;    // by node: is there one in it, or in a definition it reads?
  flat<node_id> done_;  // definitions
};

constexpr void collect_demands(graph& g) {
  demand_collection collect(g);
  for (const node_id y : g.differentiated) collect(y);
  for (const node_id y : g.outputs) collect(y);
}

}  // namespace sheaf::inline v0_1
