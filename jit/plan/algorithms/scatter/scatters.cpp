#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>

#include <algorithm>

#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/scatter/behind_condition.hpp>
#include <sheaf/jit/plan/algorithms/scatter/isolated.hpp>
#include <sheaf/jit/plan/algorithms/scatter/opened_range.hpp>
#include <sheaf/jit/plan/algorithms/scatter/joint_rows.hpp>
#include <sheaf/jit/plan/algorithms/scatter/moved_inside.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scattered_products.hpp>
#include <sheaf/jit/plan/algorithms/scatter/slices_outside.hpp>
#include <sheaf/jit/plan/compared.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/few_terms.hpp>
#include <sheaf/jit/plan/products.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/products.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

struct scatter_form {
  way how = way::map;
  node_id owned = no_node;
};

bool depends_on_bound(const graph& g, node_id e, const index_set& bound) { return g.free[e].meets(bound); }

scatter_form scatter_of(graph& g, node_id n) {
  if (is_own(monoid_of(g, n))) return {};
  index_set bound = set_of(g, bound_indices(g, n));
  flat<node_id> list;
  deltas::conjuncts(g, g.arg(n, 1), list);
  const auto free_index = [&](node_id e) {
    if (g.kind(e) != op::index || bound.has(g.ordinal(e)) || !g.free[n].has(g.ordinal(e))) return false;
    for (const node_id idx : bound_indices(g, n))
      if (g.free[idx].has(g.ordinal(e))) return false;
    return true;
  };
  const auto target = [&](node_id e, node_id j) {
    return depends_on_bound(g, e, bound) && !g.free[e].has(g.ordinal(j));
  };
  for (const node_id c : list) {
    if (g.kind(c) != op::equal) continue;
    for (int k = 0; k < 2; ++k)
      if (free_index(g.arg(c, k)) && target(g.arg(c, 1 - k), g.arg(c, k))) return {way::scatter, g.arg(c, k)};
  }
  for (const node_id c : list)
    for (const node_id d : list) {
      if (g.kind(c) != op::less_equal || g.kind(d) != op::less || g.arg(c, 1) != g.arg(d, 0)) continue;
      const node_id j = g.arg(c, 1);
      if (free_index(j) && target(g.arg(c, 0), j) && target(g.arg(d, 1), j)) return {way::range_scatter, j};
    }
  return {};
}

// A sum over all of a result that is one over the slices of it which each of its terms decides; else n itself.
node_id isolated(const context& c, const stage& s, node_id n) {
  for (const node_id j : s.indices) {
    if (is_own(monoid_of(c.g, n)) || !uses(c.g, n, j)) continue;
    const node_id slices = isolated_result(c.g, c.known, n, j)();
    if (slices != n && scatter_of(c.g, slices).how == way::range_scatter) return slices;
    if (const node_id open = opened_range(c.g, c.known, n, j)(); open != n)
      if (const node_id all = isolated_result(c.g, c.known, open, j)(isolated_result::lengths::any);
          all != open && scatter_of(c.g, all).how == way::range_scatter)
        return all;
    if (is_half(c.g.type(n)) || row(monoid_of(c.g, n)).position || is_folded_in_order(c.g, n)) continue;
    const node_id around = slices_outside(c.g, n)(j);
    if (around != n && scatter_of(c.g, around).how == way::range_scatter) return around;
  }
  return n;
}

// any(k, c) as any(k where c, true): a mask made of indices is a scatter.
node_id condition_of_any(graph& g, node_id n) {
  if (monoid_of(g, n) != monoid::any || is_constant(g, g.arg(n, 0))) return n;
  return intern_reduce(g, monoid::any, element::boolean, truth(g, true), conjunction(g, g.arg(n, 1), g.arg(n, 0)),
                       bound_indices(g, n));
}

// Where an update is for few neighbouring places along one index of the result, as [k, k + 2) of data, and data says
// where it goes along another one too, its places have a loop, instead of one over all of the result's.
node_id few_places(const context& c, const stage& s, node_id n, const scatter_form& form) {
  auto& g = c.g;
  if (is_own(monoid_of(g, n)) || is_folded_in_order(g, n)) return n;
  flat<node_id> list;
  deltas::conjuncts(g, g.arg(n, 1), list);
  std::vector<node_id> conditions(list.begin(), list.end()), all = bound_indices(g, n);
  int decided = form.how == way::scatter ? 1 : 0;
  node_id condition = truth(g, true);
  for (const node_id j : s.indices) {
    if (!uses(g, n, j)) continue;
    const auto slice = isolated_result(g, c.known, n, j).slice_of();
    if (!slice || !is_constant(g, slice->length) || g[slice->length].attribute < 1) continue;
    const node_id place = fresh_index(g, j, integer(g, 0), slice->length);
    condition = conjunction(g, condition, make(g, op::equal, j, make(g, op::add, slice->low, place)));
    for (const node_id said : slice->said) std::erase(conditions, said);
    all.push_back(place);
    ++decided;
  }
  if (decided < 2 || all.size() == bound_indices(g, n).size()) return n;
  for (const node_id each : conditions) condition = conjunction(g, condition, each);
  return intern_reduce(g, monoid_of(g, n), g.type(n), g.arg(n, 0), condition, all);
}

// A sum of what the bound indices don't reach, scattered, is that times a count; where nothing is counted it is 0
// whatever the value. The count is smaller, and the result is then written once, in order.
node_id counted(graph& g, node_id n) {
  if (monoid_of(g, n) != monoid::sum || !is_floating(g.type(n)) || is_constant(g, g.arg(n, 0))) return n;
  index_set bound = set_of(g, bound_indices(g, n));
  if (g.free[g.arg(n, 0)].meets(bound)) return n;
  const element type = row(g.type(n)).bytes < 4 ? element::f32 : g.type(n);
  const node_id count = intern_reduce(g, monoid::sum, type, number(g, type, 1), g.arg(n, 1), bound_indices(g, n));
  const node_id zero = number(g, type, 0);
  const node_id product = make(g, op::mul, cast_to(g, type, g.arg(n, 0)), count);
  return cast_to(g, g.type(n), make(g, op::select, make(g, op::equal, count, zero), zero, product));
}

// A range scatter over slices and more: each row of a slice takes one reduction over the rest, and the slices
// can be listed. An update of a scatter that sums products takes them as products that are stored are computed, and
// that of few terms of a row adds their sum to it.
node_id nested(const context& c, node_id n, const scatter_form& form) {
  auto& g = c.g;
  const auto bound = bound_indices(g, n);
  if (bound.size() < 2 || is_own(monoid_of(g, n))) return n;
  flat<node_id> list;
  deltas::conjuncts(g, g.arg(n, 1), list);
  index_set deciding;  // and what their ranges depend on
  const auto decides = [&](node_id e) {
    if (form.how == way::scatter) return g.kind(e) == op::equal;
    return (g.kind(e) == op::less_equal && g.arg(e, 1) == form.owned) ||
           (g.kind(e) == op::less && g.arg(e, 0) == form.owned);
  };
  for (const node_id e : list)
    if (decides(e)) deciding |= g.free[e];
  for (std::size_t k = 0; k < bound.size(); ++k)
    for (const node_id idx : bound)
      if (deciding.has(g.ordinal(idx))) deciding |= g.free[idx];
  std::vector<node_id> slices, rest;
  index_set inside;
  for (const node_id idx : bound) {
    (deciding.has(g.ordinal(idx)) ? slices : rest).push_back(idx);
    if (!deciding.has(g.ordinal(idx))) inside.insert(g.ordinal(idx));
  }
  if (slices.empty() || rest.empty()) return n;
  const auto [of_slice, of_rest] = parted(g, g.arg(n, 1), inside);
  const node_id each = intern_reduce(g, monoid_of(g, n), g.type(n), g.arg(n, 0), of_rest, rest);
  if (form.how == way::scatter && !(are_few(g, rest) && !c.known.for_groups()) &&
      !is_product(g, c.known, each, tuning::products::least_of_updates))
    return n;
  return intern_reduce(g, monoid_of(g, n), g.type(n), each, of_slice, slices);
}

// The place of an extremum by key, as a scatter: the first of those places where the value is the extremum of its row.
// n itself where it is none.
node_id position_by_key(const context& c, const stage& s, node_id n) {
  const auto& [g, known, before] = c;
  const auto bound = bound_indices(g, n);
  node_id value = g.arg(n, 0);
  const scatter_form form = scatter_of(g, n);
  if (form.how != way::scatter || bound.size() != 1 || g.type(value) == element::boolean) return n;
  if (g.free[value].has(g.ordinal(form.owned)) || !has_closed_ranges(g, n)) return n;
  stage like = s;
  like.vector = no_node;
  if (!is_exact(g, value)) {
    if (!has_closed_ranges(g, value) || !is_safe(g, value)) return n;
    value = stored(c, value, {"materialised", like, "compared with the extremum of its key"});
  }
  value = cast_to(g, numerics::accumulated(g.type(value)), value);
  const monoid kind = monoid_of(g, n) == monoid::argmax ? monoid::max : monoid::min;
  const node_id extremum = intern_reduce(g, kind, g.type(value), value, g.arg(n, 1), bound);
  const node_id best = stored(c, extremum, {"extremum", like, "a position by key is that of the extremum"});
  node_id here = make(g, op::equal, value, best);
  if (is_floating(g.type(value))) here = make(g, op::logical_or, here, make(g, op::not_equal, value, value));
  const node_id first =
      intern_reduce(g, monoid::min, element::i64, bound.front(), conjunction(g, g.arg(n, 1), here), bound);
  const node_id nowhere = make(g, op::equal, first, identity_of(g, monoid::min, element::i64));
  return make(g, op::select, nowhere, integer(g, -1), first);
}

// The index that what is added lies along, where s would have the scatter's rows lie the other way round; no_node: s
// says how they lie.
node_id along_rows(graph& g, const stage& s, node_id n, node_id owned) {
  const auto rank = [&](node_id idx) {
    return std::pair(std::ranges::find(s.indices, idx) - s.indices.begin(), g.ordinal(idx));
  };
  for (const node_id idx : indices_of(g, g.free[n]))
    if (rank(idx) > rank(owned)) return no_node;
  node_id along = no_node;
  for_each_node(g, g.arg(n, 0), [&](node_id read) {
    if (g.kind(read) != op::load || g[read].count < 3) return;
    const node_id last = g.arg(read, g[read].count - 1);
    if (g.kind(last) == op::index && last != owned && g.free[n].has(g.ordinal(last))) along = last;
  });
  return along;
}

// A stage that holds what this one folds, as where a definition's value and its gradient ask for the same.
node_id stored_before(const context& c, const stage& s) {
  for (const stage& t : c.before)
    if (t.define != s.define && t.how != way::partial && c.g.arg(t.define, 0) == s.body &&
        t.where == place::workspace && names_all(c.g, s.body, t.indices))
      return result_of(c.g, t);
  return no_node;
}

}  // namespace

bool is_scatter(graph& g, node_id n) { return scatter_of(g, n).how != way::map; }

node_id solved(graph& g, node_id n) {
  const node_id sums = moved_inside(g, n)();
  if (!any_node(g, sums, [&](node_id r) { return g.kind(r) == op::reduce && is_scatter(g, r); })) return sums;
  // Of what stays a scatter the indices that are results' own are not walked.
  const node_id fewer = moved_inside(g, n)(true);
  return g.kind(fewer) == op::reduce && g[fewer].count < g[n].count ? fewer : n;
}

updated_rows rows_of(graph& g, const stage& s) {
  flat<node_id> list;
  deltas::conjuncts(g, g.arg(s.body, 1), list);
  updated_rows r{.rest = truth(g, true)};
  const node_id j = s.owned;
  const auto other = [&](node_id e) { return !uses(g, e, j); };
  for (const node_id c : list) {
    const op kind = g.kind(c);
    const node_id a = g[c].count == 2 ? g.arg(c, 0) : no_node, b = g[c].count == 2 ? g.arg(c, 1) : no_node;
    if (s.how == way::scatter && r.at == no_node && kind == op::equal && ((a == j && other(b)) || (b == j && other(a))))
      r.at = a == j ? b : a;
    else if (s.how == way::range_scatter && r.low == no_node && kind == op::less_equal && b == j && other(a))
      r.low = a;
    else if (s.how == way::range_scatter && r.high == no_node && kind == op::less && a == j && other(b))
      r.high = b;
    else
      r.rest = conjunction(g, r.rest, c);
  }
  return r;
}

term_of_row in_row(graph& g, const stage& s) {
  const updated_rows t = rows_of(g, s);
  replacement put(g, g.free[t.at]);
  put.keep_proofs();
  // An update is one of the walk: an index of it stays itself, though its range may hold what names the row.
  for (const node_id idx : bound_indices(g, s.body)) put.rename(idx, idx);
  put.add(t.at, s.owned);
  return {put(g.arg(s.body, 0)), put(t.rest)};
}

std::vector<fixed_index> fixed_of(graph& g, const stage& s, updated_rows& rows) {
  const index_set bound = set_of(g, bound_indices(g, s.body));
  index_set results = set_of(g, s.indices);
  if (s.rows.block != no_node) results.erase(g.ordinal(s.rows.block));  // the task's
  std::vector<fixed_index> fixed;
  index_set around;  // results that data is of, as a batch: their loops are outside of the walk
  const auto takes = [&](node_id idx, node_id at, bool of_batches) {
    const bool of_result = std::ranges::find(s.indices, idx) != s.indices.end();
    if (!of_result || idx == s.owned || idx == s.rows.block || g.type(at) == element::boolean) return false;
    if (!g.free[g.arg(idx, 0)].empty() || !g.free[g.arg(idx, 1)].empty()) return false;
    if (!g.free[at].meets(bound) || around.has(g.ordinal(idx))) return false;
    if (std::ranges::find(fixed, idx, &fixed_index::index) != fixed.end()) return false;
    const index_set batches = g.free[at].common(results);
    if (!batches.empty() && (!of_batches || batches.has(g.ordinal(s.owned)) || batches.has(g.ordinal(idx))))
      return false;
    for (const fixed_index& f : fixed)
      if (batches.has(g.ordinal(f.index))) return false;
    around |= batches;
    fixed.push_back({idx, at});
    return true;
  };
  for (const bool of_batches : {false, true}) {
    flat<node_id> list;
    deltas::conjuncts(g, rows.rest, list);
    rows.rest = truth(g, true);
    for (const node_id c : list)
      if (g.kind(c) != op::equal ||
          (!takes(g.arg(c, 0), g.arg(c, 1), of_batches) && !takes(g.arg(c, 1), g.arg(c, 0), of_batches)))
        rows.rest = conjunction(g, rows.rest, c);
  }
  return fixed;
}

index_set deciding_of(graph& g, const stage& s) {
  updated_rows rows = rows_of(g, s);
  index_set all;
  for (const node_id n : {rows.at, rows.low, rows.high})
    if (n != no_node) all |= g.free[n];
  if (s.how == way::scatter)
    for (const fixed_index& f : fixed_of(g, s, rows)) all |= g.free[f.at];
  for (const node_id idx : bound_indices(g, s.body)) all |= g.free[idx];
  return all;
}

bool is_fixed(graph& g, const stage& s, node_id idx) {
  if (s.how != way::scatter) return false;
  updated_rows rows = rows_of(g, s);
  const auto fixed = fixed_of(g, s, rows);
  return std::ranges::find(fixed, idx, &fixed_index::index) != fixed.end();
}

std::vector<fixed_index> places_of(graph& g, const stage& s) {
  updated_rows rows = rows_of(g, s);
  std::vector<fixed_index> all = fixed_of(g, s, rows);
  all.push_back({s.owned, rows.at});
  return all;
}

bool same_places(graph& g, const stage& a, const stage& b) {
  const auto places = [&](const stage& s) {
    std::vector<fixed_index> all = places_of(g, s);
    std::ranges::sort(all, {}, &fixed_index::index);
    return all;
  };
  // Tasks that have all rows ask for no owned one.
  if (a.owned != b.owned && a.rows.whole == no_node) return false;
  return std::ranges::equal(places(a), places(b), [&](const fixed_index& x, const fixed_index& y) {
    return x.index == y.index && is_same(g, x.at, y.at);
  });
}

namespace {

// Updates are walked as what names their rows and what is added lie in memory.
node_id in_memory_order(graph& g, node_id n) {
  const std::vector<node_id> loops = loops_of(g, n, no_node);
  if (is_folded_in_order(g, n) || keeps_several(g, n) || loops == bound_indices(g, n)) return n;
  std::vector<node_id> list{g.arg(n, 0), g.arg(n, 1)};
  list.insert(list.end(), loops.begin(), loops.end());
  return g.intern(op::reduce, g.type(n), g[n].attribute, list.data(), static_cast<int>(list.size()));
}

}  // namespace

bool take_scatter(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  if (const node_id sum = sum_behind_condition(g, s.body)(); sum != s.body)
    if (is_scatter(g, sum) || isolated(c, s, sum) != sum) {
      s.body = sum;
      return true;
    }
  for (const node_id n : reductions_in(g, s.body)) {
    if (row(monoid_of(g, n)).position) {
      const node_id place = position_by_key(c, s, n);
      if (place == n) continue;
      replace_in(g, s, n, place);
      return true;
    }
    const node_id normal = condition_of_any(g, n);
    const scatter_form form = scatter_of(g, normal);
    if (form.how == way::map) {
      const node_id slices = n == s.body || has_closed_ranges(g, n) ? isolated(c, s, n) : n;
      if (slices == n) continue;
      replace_in(g, s, n, slices);
      return true;
    }
    if (n != s.body && !has_closed_ranges(g, n)) continue;  // no array holds its values: it stays a loop
    node_id simpler = normal == n ? solved(g, n) : normal;
    if (simpler == n) simpler = few_places(c, s, n, form);
    if (simpler == n) simpler = counted(g, n);
    if (simpler == n && form.how == way::scatter) simpler = joint_rows(c, s, n);
    if (simpler == n) simpler = in_memory_order(g, n);
    if (simpler == n && form.how == way::scatter) simpler = with_products_apart(c, s, n, form.owned);
    if (simpler == n) simpler = nested(c, n, form);
    if (simpler != n) {
      replace_in(g, s, n, simpler);
      if (s.how == way::scatter && g.kind(s.body) != op::reduce) s.how = way::map, s.owned = no_node;
      return true;
    }
    const element type = g.type(n);
    if (n == s.body && !is_half(type)) {
      if (s.how != way::map) continue;
      if (const node_id same = stored_before(c, s); same != no_node) {
        s.body = same;
        return true;
      }
      s.how = form.how;
      s.owned = form.owned;
      s.reasons.push_back(form.how == way::scatter
                              ? "scatter: its condition fixes an index by data; tasks own rows"
                              : "range scatter: its condition is a range that its index decides; tasks own rows");
      continue;  // the other rules lay out what they store along the loops of the map
    }
    const node_id wide = is_half(type)
                             ? intern_reduce(g, monoid_of(g, n), element::f32, cast_to(g, element::f32, g.arg(n, 0)),
                                             g.arg(n, 1), bound_indices(g, n))
                             : n;
    stage like = s;
    like.vector = along_rows(g, s, n, form.owned);
    const node_id at = stored(c, wide, {"scattered", like, "a scatter inside an expression"});
    replace_in(g, s, n, cast_to(g, type, at));
    return true;
  }
  return false;
}

}  // namespace sheaf::inline v0_1::plan
