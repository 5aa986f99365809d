// A term of a gradient where key(t) == m, as of sum(t.where(key(t) == m), x(t)) by x(t), is asked for at m = key(t) of
// each t: a reduction in it that depends on m would be folded anew for each, be it in the value or in a condition (is
// there a t at all, as empty::zero asks). It becomes a definition by m.
// Input: the condition and the value of a term. Output: equal ones. Shown by tests/gradient/keyed.cpp.
#pragma once
#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/dsl/passes/reduction.hpp>

namespace sheaf::inline v0_1 {

class keyed_adjoint {
 public:
  constexpr explicit keyed_adjoint(graph& g) : g_(g) {}

  constexpr void operator()(node_id& where, node_id& value) {
    note_keys(where);
    for (node_id e = value; g_.kind(e) == op::select;) {
      const bool holds = is_number(g_, g_.arg(e, 2), 0);
      if (holds) note_keys(g_.arg(e, 0));
      else if (!is_number(g_, g_.arg(e, 1), 0)) break;
      e = g_.arg(e, holds ? 1 : 2);
    }
    if (keys_.empty()) return;
    value = rebuilt(value);
    where = rebuilt(where);
  }

 private:
  constexpr void note_keys(node_id condition) {
    flat<node_id> list;
    deltas::conjuncts(g_, condition, list);
    for (const node_id c : list) {
      if (g_.kind(c) != op::equal) continue;
      for (int k = 0; k < 2; ++k) {
        const node_id j = g_.arg(c, k), key = g_.arg(c, 1 - k);
        if (g_.kind(j) != op::index || g_.free[key].has(g_.ordinal(j)) || !holds_load(key)) continue;
        keys_.insert(g_.ordinal(j));
        decided_.push(j);
        asking_.push(g_.free[key]);
      }
    }
  }
  constexpr bool holds_load(node_id e) const {
    if (g_.kind(e) == op::load) return true;
    bool any = false;
    for (int k = 0; is_elementwise(g_.kind(e)) && k < g_[e].count; ++k) any = any || holds_load(g_.arg(e, k));
    return any;
  }

  // Is what n depends on fewer than what asks for it? A batch that both are of stays; of another key nothing does.
  constexpr bool is_asked_often(node_id n) const {
    for (int k = 0; k < decided_.size(); ++k)
      if (g_.free[n].has(g_.ordinal(decided_[k])) ? asking_[k].within(g_.free[n]) : g_.free[n].meets(asking_[k]))
        return false;
    return g_.free[n].meets(keys_);
  }

  // All of its places are computed, also those at which nothing asks for it.
  constexpr bool is_stored(node_id n) {
    if (!is_asked_often(n)) return false;
    for (int o = 0; o < g_.indices.size(); ++o) {
      const node_id idx = g_.indices[o];
      if (!g_.free[n].has(o)) continue;
      if (is_unbound(g_, idx) || !g_.free[g_.arg(idx, 0)].empty() || !g_.free[g_.arg(idx, 1)].empty()) return false;
    }
    return !may_fail(g_, n) || fails_alike(n, g_.new_epoch());
  }

  // Does nothing that may fail depend on the place? Then it fails at all places or at none, as the fold itself does.
  constexpr bool fails_alike(node_id n, std::int32_t epoch) {
    if (g_.memo_epoch[n] == epoch) return g_.memo_value[n] != 0;
    const op kind = g_.kind(n);
    bool alike = kind != op::stop_gradient || g_[n].count < 3;
    if (kind == op::load)
      for (int d = 0; d + 1 < g_[n].count; ++d) {
        const node_id e = g_.arg(n, 1 + d);
        const bool own = g_.kind(e) == op::index && !is_unbound(g_, e) && is_number(g_, g_.arg(e, 0), 0) &&
                         known_equal(g_, g_.arg(e, 1), extent(g_, g_.arg(n, 0), d));
        alike = alike && (own || !g_.free[e].meets(keys_) || is_safe_subscript(g_, g_.arg(n, 0), d, e));
      }
    const bool leaf = kind == op::define || kind == op::index || kind == op::extent;
    for (int k = kind == op::load ? 1 : 0; alike && !leaf && k < g_[n].count; ++k)
      alike = fails_alike(g_.arg(n, k), epoch);
    if (kind == op::index && !is_unbound(g_, n)) alike = !deltas::range_may_fail(g_, n);
    g_.memo_epoch[n] = epoch;
    g_.memo_value[n] = alike;
    return alike;
  }

  constexpr node_id rebuilt(node_id n) {
    if (g_.kind(n) == op::reduce) return is_stored(n) ? stored(n) : n;
    const bool barrier = g_.kind(n) == op::stop_gradient && g_[n].count == 1;
    if (!g_.free[n].meets(keys_) || !(is_elementwise(g_.kind(n)) || barrier)) return n;
    for (int k = 0; k < from_.size(); ++k)
      if (from_[k] == n) return to_[k];
    node_id list[3] = {no_node, no_node, no_node};
    for (int k = 0; k < g_[n].count; ++k) list[k] = rebuilt(g_.arg(n, k));
    const node_id result =
        barrier                  ? g_.intern(op::stop_gradient, g_.type(n), g_[n].attribute, list, 1)
        : g_.kind(n) == op::cast ? cast_to(g_, g_.type(n), list[0]) : make(g_, g_.kind(n), list[0], list[1], list[2]);
    from_.push(n);
    to_.push(result);
    return result;
  }

  constexpr node_id stored(node_id n) {
    flat<node_id> places;
    for (int o = 0; o < g_.indices.size(); ++o)
      if (g_.free[n].has(o)) places.push(g_.indices[o]);
    const element type = g_.type(n);
    // A half is folded in f32, and not rounded in between.
    const node_id body = is_half(type) ? cast_to(g_, element::f32, n) : n;
    const node_id d = define(g_, g_.name("by_key", 6), body, places.data(), places.size());
    return cast_to(g_, type, load(g_, d, places.data(), places.size()));
  }

  graph& g_;
  index_set keys_;
  flat<node_id> decided_;    // by a key of data:
  flat<index_set> asking_;  // what that depends on
  flat<node_id> from_, to_;  // rebuilt before
};

}  // namespace sheaf::inline v0_1
