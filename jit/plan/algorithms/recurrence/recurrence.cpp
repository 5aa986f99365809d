#include <sheaf/jit/plan/algorithms/recurrence/recurrence.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/dsl/passes/powers.hpp>
#include <sheaf/dsl/passes/reduction.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/extremum/extremum_ties.hpp>
#include <sheaf/jit/plan/algorithms/recurrence/moved_range.hpp>
#include <sheaf/jit/plan/algorithms/recurrence/running_map.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/factors.hpp>
#include <sheaf/jit/plan/layout.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace numerics::recurrence;

class recurrence {
 public:
  // stays: what is found may hold its sum as a scan, which the stage is itself where it can.
  recurrence(const context& c, node_id n, const stage& s, bool stays = false)
      : c(c), g(c.g), n(n), s(s), stays(stays) {}

  // The fold of a chain of maps h -> b + a * h along r.
  node_id chained(const sliding& r) {
    const auto w = value_along(g, r);
    const bound_line low = bound_of(g, r.low, r.over);
    walk = w.walk;
    backward = low.slope == 1;
    may_vanish = true;
    node_id factor = g.arg(w.value, 0);
    if (holds(g, factor, op::reduce)) factor = materialised(factor, "factor", "a recurrence walks over it");
    const node_id sum = found_sum(g.arg(w.value, 1), factor, "each result is made of the one before");
    const node_id here = at(sum, backward ? r.low : make(g, op::add, r.high, integer(g, -1)));
    return make(g, op::select, make(g, op::less, r.low, r.high), here, number_like(g, here, 0));
  }

  node_id operator()() {
    const auto list = bound_indices(g, n);
    if (monoid_of(g, n) != monoid::sum || list.size() != 1 || !find_range(list[0]) || !has_closed_ranges(g, n))
      return no_node;
    std::vector<node_id> keys;
    for (const int part : {0, 1})
      for_each_node(g, g.arg(n, part), [&](node_id q) {
        if (g.kind(q) == op::reduce) keys.push_back(q);
      });
    for (const node_id q : keys) {
      if (is_key(q)) key = q;
      else continue;
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
    if (!is_extremum(g, q) || list.size() != 1) return false;
    if (!depends_only_on(g.arg(q, 0), list[0]) || !depends_only_on(g.arg(q, 1), list[0])) return false;
    for (const node_id later : {t, u}) {
      adjoint = later == u;
      const node_id low = g.arg(list[0], 0), high = g.arg(list[0], 1);
      const bool up = known_equal(g, low, g.arg(t, 0)) && high == make(g, op::add, later, integer(g, 1));
      const bool down = low == later && known_equal(g, high, g.arg(t, 1));
      if (backward == adjoint ? up : down) return true;
    }
    return false;
  }
  // Is a value the same whatever t and u, but for what the bound index makes of it? Otherwise an extremum does not run
  // on.
  bool depends_only_on(node_id value, node_id bound) const {
    std::unordered_set<node_id> seen{bound};
    bool fine = true;
    const auto go = [&](auto&& self, node_id x) -> void {
      if (!seen.insert(x).second || g.kind(x) == op::extent) return;
      fine = fine && x != t && x != u;
      for (int k = g.kind(x) == op::load ? 1 : 0; k < g[x].count; ++k) self(self, g.arg(x, k));
    };
    go(go, value);
    return fine;
  }
  // The value whose extremum the key is, at a place; or its condition.
  node_id keyed_at(node_id place, int part = 0) {
    replacement put(g, proofs::kept);
    put.add(bound_indices(g, key)[0], place);
    return put(g.arg(key, part));
  }
  // e with t and u at the walked place, which neither may reach otherwise.
  node_id walked(node_id e) {
    replacement put(g, proofs::kept);
    for (const node_id idx : {t, u}) put.add(idx, walk);
    put.add(key, walked_key);
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
    const node_id inner =
        fresh_index(g, u, up ? g.arg(t, 0) : walk, up ? make(g, op::add, walk, integer(g, 1)) : g.arg(t, 1));
    replacement put(g, proofs::kept);
    put.add(bound_indices(g, key)[0], inner);
    walked_key = intern_reduce(g, monoid_of(g, key), g.type(key), put(g.arg(key, 0)), put(g.arg(key, 1)), {inner});
  }

  node_id at(node_id loaded, node_id place) { return with(g, loaded, walk, place); }
  node_id previous() { return make(g, op::add, walk, integer(g, backward ? 1 : -1)); }
  node_id materialised(node_id e, const char* name, const std::string& reason) {
    return proven(g, stored(c, e, {name, layout_of(c, e, s), reason}));
  }
  // Which a stage may hold already, as a program's own.
  node_id running(node_id e, const char* reason) {
    const node_id known = known_as(g, e, walk, c.before);
    return known != no_node ? proven(g, known) : materialised(e, "running", reason);
  }

  node_id by_equality() {
    const extremum_ties ties = extremum_ties_of(g, n);
    if (ties.reduce == no_node || ties.own == adjoint || !is_true(g, g.arg(key, 1)) ||
        key != (ties.own ? ties.mine : ties.key) || !only(ties.value, u))
      return no_node;
    start();
    const bool pairs = c.known.for_groups();
    const char* const reason = "it meets ties of a running extremum: they end where that changes";
    const node_id top = pairs && !adjoint
                         ? keyed_at(walk)
                         : running(walked_key, "the extremum so far, which its ties are compared with");
    const node_id same = pairs ? no_node : make(g, op::equal, at(top, previous()), top);
    const node_id asks = pairs || adjoint ? truth(g, true) : make(g, op::equal, keyed_at(walk), top);
    node_id value = make(g, op::select, asks, walked(ties.value), number_like(g, ties.value, 0));
    if (holds(g, value, op::reduce)) value = materialised(value, "materialised", "a recurrence walks over it");
    const node_id sum = pairs ? folded(running_ties(g, walk, backward, ties, top, value), reason)
                              : found_sum(value, same, reason);
    const node_id here = read(sum);
    if (!adjoint) return here;
    return make(g, op::select, make(g, op::equal, ties.mine, proven(g, at(top, t))), here, number_like(g, here, 0));
  }

  // Is c the key, or 0 where that is infinite?
  bool is_shift(node_id centre) {
    const auto same = [&](node_id a, node_id b) { return is_same(g, a, b); };
    return monoid_of(g, key) == monoid::max && maximum_of_centre(g, centre, same) == key;
  }
  // What the sum and choices within it ask: of t's place, of u's. A key that asks is relative to what it takes alone.
  bool split_conditions() {
    flat<node_id> list;
    deltas::conjuncts(g, asked, list);
    bool keyed = is_true(g, g.arg(key, 1));
    for (const node_id e : list) {
      keyed = keyed || e == keyed_at(adjoint ? t : u, 1);
      if (!only(e, u) && !only(e, t)) return false;
      node_id& all = only(e, u) ? condition_of_u : condition_of_t;
      all = conjunction(g, all, e);
    }
    return keyed;
  }
  // The product without the exponential that meets the key.
  node_id without_power(node_id e, node_id& found) {
    const op kind = g.kind(e);
    if (const power p = power_of(g, e);
        p.value != no_node && is_shift(p.centre) && p.value == keyed_at(adjoint ? t : u)) {
      found = e;
      return number_like(g, e, 1);
    }
    if (kind == op::select && is_number(g, g.arg(e, 2), 0)) {
      const node_id part = without_power(g.arg(e, 1), found);
      if (found != no_node) asked = conjunction(g, asked, g.arg(e, 0));
      return found != no_node ? part : e;
    }
    if (kind != op::mul && kind != op::div) return e;
    for (int k = 0; k < (kind == op::mul ? 2 : 1) && found == no_node; ++k) {
      const node_id part = without_power(g.arg(e, k), found);
      if (found != no_node) return k == 0 ? make(g, kind, part, g.arg(e, 1)) : make(g, kind, g.arg(e, 0), part);
    }
    return e;
  }
  node_id by_exponential() {
    const node_id body = g.arg(n, 0);
    node_id found = no_node;
    asked = g.arg(n, 1);
    condition_of_u = condition_of_t = truth(g, true);
    node_id rest = without_power(body, found);
    if (found == no_node || !split_conditions()) return no_node;
    const auto [a, centre] = power_of(g, found);
    rest = make(g, op::select, condition_of_u, rest, number_like(g, rest, 0));
    if (!only(rest, u)) return no_node;
    start();
    const node_id shift = running(walked(centre), "the largest so far: terms are relative to it");
    const node_id last = at(shift, previous()), gap = make(g, op::sub, adjoint ? shift : last, adjoint ? last : shift);
    const node_id factor = materialised(make(g, op::exp, gap), "factor", "from one shift to the next");
    node_id value = walked(rest);
    if (!adjoint) value = make(g, op::mul, value, make(g, op::exp, make(g, op::sub, keyed_at(walk), shift)));
    const node_id sum =
        found_sum(value, factor, "its terms are relative to a running maximum: a step rescales what came before");
    const node_id here = read(sum), none = number_like(g, here, 0);
    if (!adjoint) return make(g, op::select, condition_of_t, here, none);
    const node_id top = proven(g, at(shift, t));
    const node_id own = make(g, op::exp, make(g, op::sub, a, top)), zero = number_like(g, own, 0);
    const node_id scaled = make(g, op::select, make(g, op::equal, own, zero), zero, make(g, op::mul, own, here));
    return make(g, op::select, condition_of_t, scaled, none);
  }

  // On a GPU: a scan like others, rounded as it is stored.
  node_id folded(node_id fold, const char* reason) {
    const node_id whole = cast_to(g, g.type(n), fold);
    return stays ? whole : materialised(whole, "recurrence", reason);
  }
  // The stage that takes the steps, in f64 for floating sums.
  node_id found_sum(node_id value, node_id factor, const char* reason) {
    if (holds(g, value, op::reduce)) value = materialised(value, "materialised", "a recurrence walks over it");
    const element type = numerics::recurred(g.type(n));
    value = cast_to(g, type, value);
    if (c.known.for_groups()) return folded(running_map(g, walk, backward, value, cast_to(g, type, factor)), reason);
    const node_id body = g.type(factor) == element::boolean
                             ? make(g, op::select, factor, value, number_like(g, value, 0))
                             : make(g, op::add, value, cast_to(g, type, factor));
    const node_id result = materialised(body, "recurrence", reason);
    stage& made = stage_behind(c, result);
    made.how = way::scan;
    made.owned = walk;
    made.form = form(value, factor);
    made.reasons.push_back(std::string("scan: a recurrence, one step from place to place") +
                           (backward ? ", backward" : ""));
    if (is_long(body)) share(result, value, factor);
    return result;
  }
  scan_form form(node_id value, node_id factor) const {
    return {.value = value, .walk = walk, .shift = backward ? 0 : 1, .backward = backward, .factor = factor,
            .may_vanish = may_vanish};
  }
  bool is_long(node_id body) const {
    index_set others = g.free[body];
    others.erase(g.ordinal(walk));
    return others.empty() && c.known.trips(walk) >= blocks_from && g.type(body) == element::f64 &&
           may_vectorise(g, body, walk);
  }
  // Blocks: what each comes to from 0 and how much it keeps; a recurrence over those; and each block again from there.
  void share(node_id result, node_id value, node_id factor) {
    const element type = g.type(result);
    const bool keeps = g.type(factor) == element::boolean;
    const node_id low = g.arg(walk, 0), high = g.arg(walk, 1), size = integer(g, block_size), one = integer(g, 1);
    const node_id room = make(g, op::add, make(g, op::sub, high, low), integer(g, block_size - 1));
    const node_id count = make(g, op::quotient, room, size), zero = integer(g, 0);
    const node_id p = fresh_index(g, walk, zero, count), q = fresh_index(g, walk, zero, count);
    const node_id start = make(g, op::add, low, make(g, op::mul, p, size));
    const node_id inner = fresh_index(g, walk, start, make(g, op::minimum, make(g, op::add, start, size), high));
    replacement put(g, proofs::kept);
    put.add(walk, inner);
    const node_id times = keeps ? put(factor) : cast_to(g, type, put(factor));
    const node_id step = make(g, op::add, put(value), cast_to(g, type, put(factor)));
    const node_id end = materialised(intern_reduce(g, monoid::sum, type, step, truth(g, true), {inner}), "block_end",
                                     "what a block of a recurrence comes to");
    stage& ends = stage_behind(c, end);
    ends.how = way::scan;
    ends.owned = p;
    ends.form = form(value, factor);
    ends.scan().block = block_size;
    ends.scan().block_index = p;
    ends.scan().ends = true;
    node_id all = intern_reduce(g, keeps ? monoid::all : monoid::prod, keeps ? element::boolean : type, times,
                                truth(g, true), {inner});
    if (!keeps && may_vanish) {  // nothing, if a factor is 0, whatever the others come to
      const node_id nothing = number_like(g, times, 0), none = make(g, op::equal, times, nothing);
      all = make(g, op::select, intern_reduce(g, monoid::any, element::boolean, none, truth(g, true), {inner}), nothing,
                 all);
    }
    const node_id share = materialised(all, "block_share", "what a block of a recurrence keeps of what was before it");
    replacement earlier(g);  // beyond the ends, where these loads mask themselves, there is 0
    earlier.add(p, make(g, backward ? op::add : op::sub, q, one));
    const node_id value_before = earlier(end), share_before = earlier(share);
    const node_id begun = materialised(make(g, op::add, value_before, cast_to(g, type, share_before)), "block_begin",
                                       "a recurrence over blocks");
    stage& begins = stage_behind(c, begun);
    begins.how = way::scan;
    begins.owned = q;
    begins.form = form(value_before, share_before);
    begins.scan().walk = q;
    const node_id carry = with(g, begun, q, p, proofs::kept);
    stage& found = stage_behind(c, result);
    stage made = found;
    c.before.erase(c.before.begin() + (&found - c.before.data()));
    made.body = make(g, op::add, made.body, carry);
    made.scan().block = block_size;
    made.scan().block_index = p;
    made.scan().carry = carry;
    made.reasons.push_back("blocks of " + std::to_string(block_size) + ", so that tasks can share it");
    c.before.push_back(std::move(made));  // after what it reads
  }
  node_id read(node_id sum) {
    return cast_to(g, g.type(n), g.kind(sum) == op::load ? proven(g, at(sum, t)) : at(sum, t));
  }

  const context c;
  graph& g;
  node_id n;
  const stage& s;
  node_id t = no_node, u = no_node, key = no_node, walk = no_node, walked_key = no_node;
  node_id asked = no_node, condition_of_u = no_node, condition_of_t = no_node;  // conditions: all, of u's place, of t's
  bool backward = false;    // n's range begins at t
  bool adjoint = false;     // the key depends on u
  bool may_vanish = false;  // factors may be 0 where others are infinite
  bool stays;
};

node_id take_moved(const context& c, node_id n, const stage& s) {
  graph& g = c.g;
  if (monoid_of(g, n) != monoid::sum || g[n].count != 3 || !has_closed_ranges(g, n)) return no_node;
  const bool meets = any_node(g, n, [&](node_id q) { return is_extremum(g, q); });
  const moved_range m = meets ? moved_of(g, n) : moved_range{};
  if (m.p == no_node) return no_node;
  replacement put(g, m.vouched ? proofs::kept : proofs::known), back(g);
  put.add(m.t, make(g, op::add, m.p, integer(g, -m.by)));
  const node_id same = put(n);
  const node_id found = recurrence(c, same, s)();
  if (found == no_node) return no_node;
  back.add(m.p, make(g, op::add, m.t, integer(g, m.by)));
  const node_id here = back(found);  // its loads ask for themselves whether they are inside
  return make(g, op::select, m.inside, here, number_like(g, here, 0));
}

node_id take_plain(const context& c, node_id n, const stage& s) {
  const node_id found = recurrence(c, n, s, true)();
  return found != no_node ? found : take_moved(c, n, s);
}

// Factors of the result's place alone, as the derivative of what is folded: they stand outside where there are terms.
node_id take_scaled(const context& c, node_id n, const stage& s) {
  graph& g = c.g;
  const node_id body = g.arg(n, 0);
  if (monoid_of(g, n) != monoid::sum || g[n].count != 3 || !is_floating(g.type(n))) return no_node;
  std::vector<node_id> inside, outside;
  for (const node_id e : factors_of(g, body)) (uses(g, e, g.arg(n, 2)) ? inside : outside).push_back(e);
  if (outside.empty() || inside.empty()) return no_node;
  const node_id rest = product_of(g, inside, body), factor = product_of(g, outside, body);
  const node_id found =
      take_plain(c, intern_reduce(g, monoid::sum, g.type(n), rest, g.arg(n, 1), bound_indices(g, n)), s);
  if (found == no_node) return no_node;
  const auto scaled = [&](node_id e) { return is_number(g, e, 0) ? e : make(g, op::mul, e, factor); };
  if (g.kind(found) != op::select) return scaled(found);
  return make(g, op::select, g.arg(found, 0), scaled(g.arg(found, 1)), scaled(g.arg(found, 2)));
}

}  // namespace

node_id take_recurrence(const context& c, node_id n, const stage& s) {
  const node_id found = take_plain(c, n, s);
  return found != no_node ? found : take_scaled(c, n, s);
}

node_id take_chain(const context& c, const sliding& r, const stage& s) {
  return recurrence(c, r.reduce, s).chained(r);
}

}  // namespace sheaf::inline v0_1::plan
