#include <sheaf/jit/plan/index_digits.hpp>

#include <algorithm>

#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/digits.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

bool divides(const graph& g, node_id n, node_id idx) {
  const op kind = g.kind(n);
  return (kind == op::quotient || kind == op::remainder) && g.arg(n, 0) == idx;
}

// By what idx is divided, in the condition and elsewhere; no_node: not in the condition, or by what are no digits.
node_id divisor_of(graph& g, node_id n, node_id idx) {
  std::vector<node_id> all;
  const auto take = [&](node_id e) {
    if (divides(g, e, idx)) all.push_back(g.arg(e, 1));
  };
  for_each_node(g, g.arg(n, 1), take);
  if (all.empty()) return no_node;
  for_each_node(g, g.arg(n, 0), take);
  node_id most = all.front();
  for (const node_id by : all)
    if (is_constant(g, by) && is_constant(g, most) && g[by].attribute > g[most].attribute) most = by;
  for (const node_id by : all) {
    if (!g.free[by].empty() || holds(g, by, op::load) || holds(g, by, op::reduce)) return no_node;
    if (by == most) continue;
    if (!is_constant(g, by) || !is_constant(g, most)) return no_node;
    if (g[by].attribute < 1 || g[most].attribute % g[by].attribute != 0) return no_node;
  }
  return is_constant(g, most) && g[most].attribute < 2 ? no_node : most;
}

// high / by, where that is seen to leave no rest.
node_id whole_quotient(graph& g, node_id high, node_id by) {
  if (is_constant(g, high) && is_constant(g, by))
    return g[high].attribute % g[by].attribute == 0 ? integer(g, g[high].attribute / g[by].attribute) : no_node;
  if (known_equal(g, high, by)) return integer(g, 1);
  if (g.kind(high) != op::mul) return no_node;
  for (const int k : {0, 1})
    if (const node_id q = whole_quotient(g, g.arg(high, k), by); q != no_node)
      return make(g, op::mul, q, g.arg(high, 1 - k));
  return no_node;
}

struct divided_index {
  node_id idx = no_node, by = no_node;
};

bool ranges_by(const graph& g, node_id idx, node_id by) { return idx != by && g.free[idx].has(g.ordinal(by)); }

// Does the range of an index depend on one whose range depends on idx?
bool has_chain(const graph& g, const std::vector<node_id>& bound, node_id idx) {
  return std::ranges::any_of(bound, [&](node_id o) {
    return ranges_by(g, o, idx) && std::ranges::any_of(bound, [&](node_id p) { return ranges_by(g, p, o); });
  });
}

divided_index digits_in(graph& g, node_id n) {
  const std::vector<node_id> bound = bound_indices(g, n);
  for (const node_id idx : bound) {
    const bool closed = is_number(g, g.arg(idx, 0), 0) && !g.free[g.arg(idx, 1)].meets(set_of(g, bound));
    if (!closed || holds(g, g.arg(idx, 1), op::load) || has_chain(g, bound, idx)) continue;
    if (const node_id by = divisor_of(g, n, idx); by != no_node) return {idx, by};
  }
  return {};
}

// The indices of a reduction, of which those whose ranges go by idx are new ones.
std::vector<node_id> following(graph& g, node_id n, node_id idx, replacement& put) {
  std::vector<node_id> indices = bound_indices(g, n);
  for (node_id& each : indices) {
    if (!ranges_by(g, each, idx)) continue;
    const node_id own = fresh_index(g, each, put(g.arg(each, 0)), put(g.arg(each, 1)));
    put.add(each, own);
    each = own;
  }
  return indices;
}

// The sum over idx up to `high` as one over its digits, by a number that is at least 1.
node_id over_digits(graph& g, node_id n, const divided_index& d, node_id high) {
  const node_id zero = integer(g, 0), whole = whole_quotient(g, high, d.by);
  const node_id blocks = whole != no_node ? whole : ceil_quotient(g, high, d.by);
  const node_id major = fresh_index(g, d.idx, zero, blocks);
  const node_id rest = make(g, op::sub, high, make(g, op::mul, major, d.by));
  const node_id minor = fresh_index(g, d.idx, zero, whole != no_node ? d.by : make(g, op::minimum, d.by, rest));
  replacement put(g, set_of(g, {d.idx}));
  put.keep_proofs();
  const auto digit = [&](node_id e) {
    if (!divides(g, e, d.idx)) return;
    const node_id by = g.arg(e, 1);
    const bool quotient = g.kind(e) == op::quotient;
    if (by == d.by) return put.rename(e, quotient ? major : minor);
    const node_id inner = make(g, g.kind(e), minor, by);
    const node_id times = integer(g, g[d.by].attribute / g[by].attribute);
    put.rename(e, quotient ? make(g, op::add, make(g, op::mul, major, times), inner) : inner);
  };
  for_each_node(g, g.arg(n, 1), digit);
  for_each_node(g, g.arg(n, 0), digit);
  put.add(d.idx, make(g, op::add, make(g, op::mul, major, d.by), minor));
  std::vector<node_id> indices = following(g, n, d.idx, put);
  indices.insert(std::ranges::find(indices, d.idx) + 1, minor);
  std::ranges::replace(indices, d.idx, major);
  return reduce(g, monoid_of(g, n), put(g.arg(n, 0)), put(g.arg(n, 1)), indices.data(),
                static_cast<int>(indices.size()));
}

// Where the divisor may be 0 or less, the sum as it was is computed instead.
node_id by_digits(const context& c, stage& s, node_id n, const divided_index& d) {
  graph& g = c.g;
  const node_id zero = integer(g, 0), one = integer(g, 1), high = g.arg(d.idx, 1);
  const bool whole = whole_quotient(g, high, d.by) != no_node;
  if (known_less_equal(g, one, d.by) || (whole && known_less_equal(g, zero, d.by))) return over_digits(g, n, d, high);
  if (!has_closed_ranges(g, n) || is_number(g, high, 0)) return n;
  const node_id divides = make(g, op::less, zero, d.by);
  const node_id own = fresh_index(g, d.idx, make(g, op::select, divides, high, zero), high);
  replacement put(g, proofs::kept);
  put.add(d.idx, own);
  std::vector<node_id> indices = following(g, n, d.idx, put);
  std::ranges::replace(indices, d.idx, own);
  const node_id sum = intern_reduce(g, monoid::sum, g.type(n), put(g.arg(n, 0)), put(g.arg(n, 1)), indices);
  stage like = s;
  like.vector = no_node;
  const char* const reason = "an index has no digits where it is divided by 0 or less";
  const node_id undivided = stored(c, sum, {"undivided", like, reason});
  stage_behind(c, undivided).when = make(g, op::logical_not, divides);
  return make(g, op::select, divides, over_digits(g, n, d, high), undivided);
}

// Is there an equality left that no loop is solved of, and that many iterations would ask? A scatter asks none.
bool asks_many(const context& c, node_id e) {
  graph& g = c.g;
  const auto is_asked = [&](node_id n) {
    flat<node_id> list;
    deltas::conjuncts(g, g.arg(n, 1), list);
    const index_set bound = set_of(g, bound_indices(g, n));
    return std::ranges::any_of(list, [&](node_id each) {
      return g.kind(each) == op::equal && c.known.trips(g.free[each].common(bound)) > tuning::digits::most_asked;
    });
  };
  return std::ranges::any_of(reductions_in(g, e), is_asked);
}

// Digits of digits, too: i / 8 % 2 is one of i / 8.
node_id with_digits(const context& c, stage& s, node_id n) {
  const divided_index d = digits_in(c.g, n);
  if (d.idx == no_node || solved(c.g, n) != n) return n;
  const node_id sum = by_digits(c, s, n, d);
  if (sum == n) return n;
  for (const node_id r : reductions_in(c.g, sum))
    if (monoid_of(c.g, r) == monoid::sum)
      if (const node_id more = with_digits(c, s, r); more != r) return with(c.g, sum, r, more);
  return sum;
}

}  // namespace

bool take_digits(const context& c, stage& s) {
  graph& g = c.g;
  if (s.where == place::check || s.how != way::map || s.when != no_node) return false;
  for (const node_id n : reductions_in(g, s.body)) {
    if (monoid_of(g, n) != monoid::sum || is_folded_in_order(g, n)) continue;
    if (holds(g, g.arg(n, 0), op::reduce)) continue;  // which a scatter stores: once for each of its updates
    const node_id sum = with_digits(c, s, n);
    if (sum == n || asks_many(c, sum)) continue;
    replace_in(g, s, n, sum);
    return true;
  }
  return false;
}

}  // namespace sheaf::inline v0_1::plan
