#include <sheaf/jit/plan/known_conditions.hpp>

#include <algorithm>
#include <utility>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/proving.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// Is what an index ends at no more in the call at hand?
bool ends_by(const facts& known, node_id end, const amount& size) {
  const graph& g = known.g();
  if (g.kind(end) == op::minimum) return ends_by(known, g.arg(end, 0), size) || ends_by(known, g.arg(end, 1), size);
  if (g.kind(end) != op::extent && g.kind(end) != op::constant) return false;
  const auto most = known.value(end);
  return most && most->certain() <= size;
}

}  // namespace

bool ends_within(const facts& known, node_id condition) {
  const graph& g = known.g();
  if (known.call().gpu) return false;  // where lanes are predicated anyway
  if (g.kind(condition) != op::less || known.irregular()) return false;
  const node_id i = g.arg(condition, 0), extent = g.arg(condition, 1);
  const bool counts = g.kind(i) == op::index && !is_unbound(g, i);
  if ((!counts && g.kind(i) != op::constant) || g.kind(extent) != op::extent) return false;
  const auto size = known.value(extent);
  if (!size || !size->may_be_fixed()) return false;
  return counts ? ends_by(known, g.arg(i, 1), *size) : size->certain() > static_cast<double>(g[i].attribute);
}

namespace {

// Without the prover of several inequalities at once: each comparison would call it twice.
constexpr int ranges_alone = 1;

// a <= b where n, which asks it, is evaluated: by what is known of the ranges of its indices, which have places.
bool is_at_most(graph& g, node_id n, node_id a, node_id b) {
  if (known_less_equal(g, a, b, ranges_alone)) return true;
  if (g.kind(b) == op::minimum) return is_at_most(g, n, a, g.arg(b, 0)) && is_at_most(g, n, a, g.arg(b, 1));
  if (!g.free[a].empty() || !g.free[b].empty()) return false;
  return std::ranges::any_of(indices_of(g, g.free[n]), [&](node_id idx) {
    return known_less_equal(g, a, g.arg(idx, 0), ranges_alone) &&
           known_less_equal(g, make(g, op::sub, g.arg(idx, 1), integer(g, 1)), b, ranges_alone);
  });
}

// What a comparison, an extremum, or a place in a period is worth; n itself where that is not known.
node_id outcome(graph& g, const facts& of, node_id n) {
  if (ends_within(of, n)) return truth(g, true);
  const node_id a = g.arg(n, 0), b = g.arg(n, 1);
  const op kind = g.kind(n);
  if (kind == op::remainder || kind == op::quotient) {
    const node_id zero = integer(g, 0);
    const bool within = is_at_most(g, n, zero, a) && is_at_most(g, n, make(g, op::add, a, integer(g, 1)), b);
    return !within ? n : kind == op::remainder ? a : zero;
  }
  if (kind == op::minimum || kind == op::maximum) {
    const node_id least = kind == op::minimum ? a : b, most = kind == op::minimum ? b : a;
    return is_at_most(g, n, a, b) ? least : is_at_most(g, n, b, a) ? most : n;
  }
  const bool is_less = kind == op::less;
  const auto below = [&](node_id x, node_id y, bool strictly) {
    return is_at_most(g, n, strictly ? make(g, op::add, x, integer(g, 1)) : x, y);
  };
  return below(a, b, is_less) ? truth(g, true) : below(b, a, !is_less) ? truth(g, false) : n;
}

// A reduction without a condition that it asks.
node_id without_condition(graph& g, node_id r, node_id known) {
  flat<node_id> list;
  deltas::conjuncts(g, g.arg(r, 1), list);
  node_id rest = truth(g, true);
  for (const node_id c : list)
    if (c != known) rest = conjunction(g, rest, c);
  return intern_reduce(g, monoid_of(g, r), g.type(r), g.arg(r, 0), rest, bound_indices(g, r));
}

// Does the condition of a reduction ask c again, of terms that read nothing which c keeps them from?
bool asks_again(graph& g, node_id r, node_id c) {
  flat<node_id> list;
  deltas::conjuncts(g, g.arg(r, 1), list);
  const std::vector<node_id> loads = loads_in(g, g.arg(r, 0));
  return list.contains(c) && std::ranges::all_of(loads, [&](node_id n) { return !is_proven(g, n) || is_inside(g, n); });
}

// x where the conditions c hold: reductions in it do not ask for them.
node_id where_known(graph& g, node_id x, const flat<node_id>& conditions) {
  for (int k = 0; k < conditions.size(); ++k) {
    const node_id c = conditions[k];
    const std::vector<node_id> all = reductions_in(g, x);
    const bool named_anew = std::ranges::any_of(
        all, [&](node_id r) { return g.free[c].meets(set_of(g, bound_indices(g, r))); });
    if (is_true(g, c) || named_anew) continue;
    replacement put(g, proofs::kept);
    // They are bound around x, where their ranges ask on.
    for (const node_id idx : indices_of(g, g.free[x])) put.rename(idx, idx);
    for (const node_id r : all)
      if (asks_again(g, r, c)) put.add(r, without_condition(g, r, c));
    x = put(x);
  }
  return x;
}

}  // namespace

// What a choice or a reduction asks is not asked again in it.
static bool take_asked_conditions(const context& c, stage& s) {
  graph& g = c.g;
  const std::vector<node_id> all = reductions_in(g, s.body);
  if (std::ranges::none_of(all, [&](node_id r) { return !is_true(g, g.arg(r, 1)); })) return false;
  node_id found = no_node, known = no_node;
  for_each_node(g, s.body, [&](node_id n) {
    const bool sums = g.kind(n) == op::reduce;
    if (found != no_node || (!sums && g.kind(n) != op::select)) return;
    flat<node_id> list;
    deltas::conjuncts(g, g.arg(n, sums ? 1 : 0), list);
    const int place = sums ? 0 : 1;
    const node_id inner = where_known(g, g.arg(n, place), list);
    if (inner == g.arg(n, place)) return;
    std::vector<node_id> parts;
    for (int k = 0; k < g[n].count; ++k) parts.push_back(k == place ? inner : g.arg(n, k));
    found = n;
    known = g.intern(g.kind(n), g.type(n), g[n].attribute, parts.data(), g[n].count);
  });
  if (found == no_node) return false;
  replace_in(g, s, found, known);
  return true;
}

// Loads that are inside by the ranges of their indices and the extents of the call at hand.
static bool take_inside_loads(const context& c, stage& s) {
  graph& g = c.g;
  std::vector<node_id> inside;
  for (const node_id n : loads_in(g, s.body)) {
    flat<node_id> list;
    if (!is_proven(g, n)) deltas::conjuncts(g, inside_condition(g, n), list);
    const auto ends = [&](node_id e) { return ends_within(c.known, e); };
    if (list.size() > 0 && std::ranges::all_of(list, ends)) inside.push_back(n);
  }
  if (inside.empty()) return false;
  const node_id before = std::exchange(s.body, proving(g, inside, proving::in::itself)(s.body));
  return s.body != before;
}

bool take_known_conditions(const context& c, stage& s) {
  graph& g = c.g;
  if (take_inside_loads(c, s)) return true;
  std::vector<node_id> asked;
  for_each_node(g, s.body, [&](node_id n) {
    const op kind = g.kind(n);
    const bool orders = kind == op::less || kind == op::less_equal || kind == op::minimum || kind == op::maximum;
    const bool divides = kind == op::remainder || kind == op::quotient;
    if ((orders || divides) && g.type(g.arg(n, 0)) == element::i64 && !g.free[n].empty() && !holds(g, n, op::load) &&
        !holds(g, n, op::reduce))
      asked.push_back(n);
  });
  if (take_asked_conditions(c, s)) return true;
  replacement all(g, proofs::kept);
  all.keep_indices(s.body);
  for (const node_id n : asked)
    if (const node_id known = outcome(g, c.known, n); known != n) all.add(n, known);
  const node_id before = std::exchange(s.body, all(s.body));
  return s.body != before;
}

}  // namespace sheaf::inline v0_1::plan
