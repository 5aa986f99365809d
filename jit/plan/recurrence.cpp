#include <sheaf/jit/plan/recurrence.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/scans.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::plan {

namespace {

class recurrence {
 public:
  recurrence(graph& g, const facts& known, node_id n, const stage& s, std::vector<stage>& before, trust& trusted)
      : g(g), known(known), n(n), s(s), before(before), trusted(trusted) {}

  node_id operator()() {
    const auto list = bound_indices(g, n);
    if (monoid_of(g, n) != monoid::sum || list.size() != 1 || !find_range(list[0]) || !has_closed_ranges(g, n)) return no_node;
    std::vector<node_id> keys;
    const auto look = [&](node_id q) {
      if (g.kind(q) == op::reduce) keys.push_back(q);
    };
    for_each_node(g, g.arg(n, 0), look);
    for_each_node(g, g.arg(n, 1), look);
    for (const node_id q : keys) {
      if (!is_key(q)) continue;
      key = q;
      if (const node_id found = by_equality(); found != no_node) return found;
      if (const node_id found = by_exponential(); found != no_node) return found;
    }
    return no_node;
  }

 private:
  bool uses(node_id e, node_id idx) const { return g.free[e].has(g.ordinal(idx)); }

  // u from t's first place up to t, or from t to its last.
  bool find_range(node_id bound) {
    u = bound;
    const node_id low = g.arg(u, 0), high = g.arg(u, 1);
    for (const node_id idx : indices_of(g, g.free[u])) {
      if (idx == u || !g.free[g.arg(idx, 0)].empty() || !g.free[g.arg(idx, 1)].empty()) continue;
      t = idx;
      backward = low == t && known_equal(g, high, g.arg(t, 1));
      if (backward || (high == make(g, op::add, t, integer(g, 1)) && known_equal(g, low, g.arg(t, 0)))) return true;
    }
    return false;
  }
  // The extremum over the same range, or (as gradients have it) over that of the bound index, which runs the other way.
  bool is_key(node_id q) {
    const auto list = bound_indices(g, q);
    if ((monoid_of(g, q) != monoid::max && monoid_of(g, q) != monoid::min) || list.size() != 1 || !is_true(g, g.arg(q, 1))) return false;
    if (!depends_only_on(g.arg(q, 0), list[0])) return false;
    for (const node_id later : {t, u}) {
      adjoint = later == u;
      const node_id low = g.arg(list[0], 0), high = g.arg(list[0], 1);
      const bool up = known_equal(g, low, g.arg(t, 0)) && high == make(g, op::add, later, integer(g, 1));
      const bool down = low == later && known_equal(g, high, g.arg(t, 1));
      if (backward == adjoint ? up : down) return true;
    }
    return false;
  }
  // Is a value the same whatever t and u, but for what the bound index makes of it? Otherwise an extremum does not run on.
  bool depends_only_on(node_id value, node_id bound) const {
    bool fine = true;
    std::unordered_set<node_id> seen{bound};
    const auto go = [&](auto&& self, node_id x) -> void {
      if (!seen.insert(x).second || g.kind(x) == op::extent) return;
      fine = fine && x != t && x != u;
      for (int k = g.kind(x) == op::load ? 1 : 0; k < g[x].count; ++k) self(self, g.arg(x, k));
    };
    go(go, value);
    return fine;
  }
  // The value whose extremum the key is, at a place.
  node_id keyed_at(node_id place) {
    replacement put(g);
    put.add(bound_indices(g, key)[0], place);
    return put(g.arg(key, 0));
  }
  // e with t and u at the walked place, which neither may reach otherwise.
  node_id walked(node_id e) {
    replacement put(g);
    put.add(t, walk);
    put.add(u, walk);
    put.add(key, walked_key);
    trust_alike(g, e, put, trusted);
    return put(e);
  }
  bool only(node_id e, node_id idx) const {
    // A range may bring t into what holds u only.
    const node_id other = idx == t ? u : t;
    bool fine = true;
    for_each_inside(e, [&](node_id x) {
      fine = fine && x != other;
      if (g.kind(x) == op::reduce)
        for (const node_id b : bound_indices(g, x)) fine = fine && b != t && b != u;
    });
    return fine;
  }
  // As for_each_node, but not into the ranges of t and u.
  template <class Visit>
  void for_each_inside(node_id root, Visit&& visit) const {
    std::unordered_set<node_id> seen;
    const auto go = [&](auto&& self, node_id x) -> void {
      if (!seen.insert(x).second) return;
      visit(x);
      if (x == t || x == u || g.kind(x) == op::extent) return;
      for (int k = g.kind(x) == op::load ? 1 : 0; k < g[x].count; ++k) self(self, g.arg(x, k));
    };
    go(go, root);
  }
  // The walked index, and the key there: under an index of its own, for it may bind u itself.
  void start() {
    walk = fresh_index(g, u, g.arg(t, 0), g.arg(t, 1));
    const bool up = backward == adjoint;
    const node_id inner = fresh_index(g, u, up ? g.arg(t, 0) : walk, up ? make(g, op::add, walk, integer(g, 1)) : g.arg(t, 1));
    replacement put(g);
    put.add(bound_indices(g, key)[0], inner);
    trust_alike(g, g.arg(key, 0), put, trusted);
    walked_key = intern_reduce(g, monoid_of(g, key), g.type(key), put(g.arg(key, 0)), truth(g, true), {inner});
  }

  node_id at(node_id loaded, node_id place) {
    replacement put(g);
    put.add(walk, place);
    return put(loaded);
  }
  node_id previous() { return make(g, op::add, walk, integer(g, backward ? 1 : -1)); }
  node_id kept(node_id e, const char* name, const std::string& reason) {
    const node_id found = stored(g, e, name, layout_of(g, known, e, s), before, reason);
    trusted.insert(found);
    return found;
  }

  node_id by_equality() {
    flat<node_id> list;
    deltas::conjuncts(g, g.arg(n, 1), list);
    const node_id mine = keyed_at(adjoint ? t : u);
    int hit = -1;
    for (int k = 0; k < list.size() && hit < 0; ++k)
      if (g.kind(list[k]) == op::equal && ((g.arg(list[k], 0) == key && g.arg(list[k], 1) == mine) || (g.arg(list[k], 1) == key && g.arg(list[k], 0) == mine)))
        hit = k;
    if (hit < 0) return no_node;
    const node_id body = g.arg(n, 0), rest = deltas::conjunction_without(g, list, hit);
    if (!only(body, u) || !only(rest, u)) return no_node;
    start();
    const node_id running = kept(walked_key, "running", "the extremum so far, which its ties are compared with");
    const node_id same = make(g, op::equal, at(running, previous()), running);
    node_id condition = walked(rest);
    if (!adjoint) condition = conjunction(g, make(g, op::equal, keyed_at(walk), running), condition);
    const node_id value = make(g, op::select, condition, walked(body), number_like(g, body, 0));
    const node_id sum = found_sum(value, same, "it meets ties of a running extremum: they end where that changes");
    const node_id here = read(sum);
    if (!adjoint) return here;
    const node_id top = at(running, t);
    trusted.insert(top);
    return make(g, op::select, make(g, op::equal, mine, top), here, number_like(g, here, 0));
  }

  // Is c the key, or 0 where that is endless?
  bool is_shift(node_id c) const {
    while (g.kind(c) == op::stop_gradient) c = g.arg(c, 0);
    if (g.kind(c) == op::select && is_number(g, g.arg(c, 1), 0)) c = g.arg(c, 2);
    return c == key && monoid_of(g, key) == monoid::max;
  }
  // The product without the exponential that meets the key.
  node_id without_power(node_id e, node_id& power) {
    const op kind = g.kind(e);
    if (kind == op::exp && g.kind(g.arg(e, 0)) == op::sub && is_shift(g.arg(g.arg(e, 0), 1)) &&
        g.arg(g.arg(e, 0), 0) == keyed_at(adjoint ? t : u)) {
      power = e;
      return number_like(g, e, 1);
    }
    if (kind != op::mul && kind != op::div) return e;
    for (int k = 0; k < (kind == op::mul ? 2 : 1) && power == no_node; ++k) {
      const node_id part = without_power(g.arg(e, k), power);
      if (power != no_node) return k == 0 ? make(g, kind, part, g.arg(e, 1)) : make(g, kind, g.arg(e, 0), part);
    }
    return e;
  }
  node_id by_exponential() {
    if (!is_true(g, g.arg(n, 1))) return no_node;
    const node_id body = g.arg(n, 0);
    node_id power = no_node;
    const node_id rest = without_power(body, power);
    if (power == no_node) return no_node;
    const node_id a = g.arg(g.arg(power, 0), 0), c = g.arg(g.arg(power, 0), 1);
    if (!only(rest, u)) return no_node;
    start();
    const node_id shift = kept(walked(c), "running", "the largest so far, which the terms are relative to");
    const node_id before_it = at(shift, previous());
    const node_id gap = adjoint ? make(g, op::sub, shift, before_it) : make(g, op::sub, before_it, shift);
    const node_id factor = kept(make(g, op::exp, gap), "factor", "from one shift to the next");
    node_id value = walked(rest);
    if (!adjoint) value = make(g, op::mul, value, make(g, op::exp, make(g, op::sub, keyed_at(walk), shift)));
    const node_id sum = found_sum(value, factor, "its terms are relative to a running maximum: a step rescales what came before");
    const node_id here = read(sum);
    if (!adjoint) return here;
    const node_id top = at(shift, t);
    trusted.insert(top);
    const node_id own = make(g, op::exp, make(g, op::sub, a, top)), zero = number_like(g, own, 0);
    return make(g, op::select, make(g, op::equal, own, zero), zero, make(g, op::mul, own, here));
  }

  // The stage that takes the steps, in f64 for floating sums.
  node_id found_sum(node_id value, node_id factor, const char* reason) {
    if (holds(g, value, op::reduce)) value = kept(value, "kept", "a recurrence walks over it");
    const element type = is_floating(g.type(n)) ? element::f64 : g.type(n);
    value = cast_to(g, type, value);
    const node_id body = g.type(factor) == element::boolean ? make(g, op::select, factor, value, number_like(g, value, 0))
                                                            : make(g, op::add, value, cast_to(g, type, factor));
    const node_id result = kept(body, "recurrence", reason);
    stage& made = *std::find_if(before.begin(), before.end(), [&](const stage& x) { return x.define == g.arg(result, 0); });
    made.how = way::scan;
    made.owned = walk;
    made.scan.value = value;
    made.scan.factor = factor;
    made.scan.walk = walk;
    made.scan.backward = backward;
    made.scan.shift = backward ? 0 : 1;
    made.reasons.push_back(std::string("scan: a recurrence, one step from place to place") + (backward ? ", backward" : ""));
    return result;
  }
  node_id read(node_id sum) {
    const node_id here = at(sum, t);
    trusted.insert(here);
    return cast_to(g, g.type(n), here);
  }

  graph& g;
  const facts& known;
  node_id n;
  const stage& s;
  std::vector<stage>& before;
  trust& trusted;
  node_id t = no_node, u = no_node, key = no_node, walk = no_node, walked_key = no_node;
  bool backward = false;  // n's range begins at t
  bool adjoint = false;   // the key depends on u
};

}  // namespace

node_id take_recurrence(graph& g, const facts& known, node_id n, const stage& s, std::vector<stage>& before, trust& trusted) {
  return recurrence(g, known, n, s, before, trusted)();
}

}  // namespace sheaf::plan
