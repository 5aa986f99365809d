// See stages.hpp. Works on one stage at a time until nothing in its body must be stored by itself; what is taken out
// becomes a stage and is worked on in turn.
#include <algorithm>

#include <sheaf/jit/plan/levels.hpp>
#include <sheaf/jit/plan/ragged.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/scans.hpp>
#include <sheaf/jit/plan/schedule.hpp>
#include <sheaf/jit/plan/split.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/sweep.hpp>
#include <sheaf/jit/plan/taps.hpp>
#include <sheaf/jit/plan/tiles.hpp>
#include <sheaf/jit/plan/updates.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

constexpr double repeats_allowed = 1.5;
constexpr double often = 1 << 18;  // turns
constexpr double enough_pieces = 32;

// ---- scatters

struct scatter_form {
  way how = way::map;
  node_id owned = no_node;
};

bool depends_on_bound(const graph& g, node_id e, const index_set& bound) { return g.free[e].meets(bound); }

scatter_form scatter_of(graph& g, node_id n) {
  if (row(monoid_of(g, n)).position || is_own(monoid_of(g, n))) return {};
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
      if (free_index(j) && target(g.arg(c, 0), j) && target(g.arg(d, 1), j)) return {way::interval, j};
    }
  return {};
}

// any(k, c) as any(k where c, true): a mask made of indices is a scatter.
node_id condition_of_any(graph& g, node_id n) {
  if (monoid_of(g, n) != monoid::any || is_constant(g, g.arg(n, 0))) return n;
  return intern_reduce(g, monoid::any, element::boolean, truth(g, true), conjunction(g, g.arg(n, 1), g.arg(n, 0)),
                       bound_indices(g, n));
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

// An interval scatter over slices and more: each row of a slice takes one reduction over the rest, and the slices can
// be listed.
node_id nested(graph& g, node_id n, const scatter_form& form) {
  const auto bound = bound_indices(g, n);
  if (form.how != way::interval || bound.size() < 2 || is_own(monoid_of(g, n))) return n;
  flat<node_id> list;
  deltas::conjuncts(g, g.arg(n, 1), list);
  index_set deciding;  // and what their ranges depend on
  for (const node_id c : list)
    if ((g.kind(c) == op::less_equal && g.arg(c, 1) == form.owned) ||
        (g.kind(c) == op::less && g.arg(c, 0) == form.owned))
      deciding |= g.free[c];
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
  node_id of_slice = truth(g, true), of_rest = truth(g, true);
  for (const node_id c : list) {
    node_id& all = g.free[c].meets(inside) ? of_rest : of_slice;
    all = conjunction(g, all, c);
  }
  const node_id each = intern_reduce(g, monoid_of(g, n), g.type(n), g.arg(n, 0), of_rest, rest);
  return intern_reduce(g, monoid_of(g, n), g.type(n), each, of_slice, slices);
}

// ---- placement

struct found {
  node_id node = no_node;
  std::string reason;
};

// The first reduction that a nest of `loops` would compute too often. `bound`: loops inside the stage's own.
class placement {
 public:
  placement(const graph& g, const facts& known, const stage& s) : g_(g), known_(known), s_(s) {}

  found operator()() {
    walk(s_.body, s_.loops);
    return result_;
  }

 private:
  void walk(node_id n, const std::vector<node_id>& loops) {
    if (result_.node != no_node || !seen_.insert(n).second) return;
    if (g_.kind(n) == op::reduce) return reduction(n, loops);
    if (g_.kind(n) == op::extent || g_.kind(n) == op::define) return;
    if (repeats_much(n, loops)) return;
    for (int k = g_.kind(n) == op::load ? 1 : 0; k < g_[n].count; ++k) walk(g_.arg(n, k), loops);
  }

  // Divisions and functions of few values in the innermost of many turns: read from an array they cost a load.
  bool repeats_much(node_id n, const std::vector<node_id>& loops) {
    if (!is_elementwise(g_.kind(n)) || !is_floating(g_.type(n)) || g_.free[n].empty() || !is_slow(g_, n)) return false;
    index_set prefix, all;
    for (const node_id idx : loops) {
      if (!g_.free[n].within(prefix)) prefix.insert(g_.ordinal(idx));
      all.insert(g_.ordinal(idx));
    }
    const double placed = known_.trips(prefix), needed = known_.trips(g_.free[n]);
    if (placed < often || placed < 16 * needed || placed * 4 < known_.trips(all) || !has_closed_ranges(g_, n))
      return false;
    result_ = {n, "computed in " + std::to_string(static_cast<long long>(placed)) + " turns, it has " +
                      std::to_string(static_cast<long long>(needed)) + " values"};
    return true;
  }

  void reduction(node_id n, const std::vector<node_id>& loops) {
    index_set prefix;
    std::size_t depth = 0;
    std::vector<node_id> around;
    while (depth < loops.size() && !g_.free[n].within(prefix)) {
      around.push_back(loops[depth]);
      prefix.insert(g_.ordinal(loops[depth++]));
    }
    const bool stores = has_closed_ranges(g_, n);
    const double placed = known_.trips(prefix), needed = known_.trips(g_.free[n]);
    if (!s_.loops.empty() && depth == 0) {
      result_ = {n, "it does not depend on the loops: pieces would repeat it"};
      return;
    }
    if (stores && placed > repeats_allowed * needed) {
      result_ = {n, "its place in the nest runs " + std::to_string(static_cast<long long>(placed)) + " times, it has " +
                        std::to_string(static_cast<long long>(needed)) + " values"};
      return;
    }
    for (const node_id idx : bound_indices(g_, n)) {
      walk(g_.arg(idx, 0), around);
      walk(g_.arg(idx, 1), around);
      around.push_back(idx);
    }
    walk(g_.arg(n, 1), around);
    walk(g_.arg(n, 0), around);
  }

  const graph& g_;
  const facts& known_;
  const stage& s_;
  std::unordered_set<node_id> seen_;
  found result_;
};

std::vector<node_id> reductions_in(const graph& g, node_id root) {
  std::vector<node_id> list;
  for_each_node(g, root, [&](node_id n) {
    if (g.kind(n) == op::reduce) list.push_back(n);
  });
  return list;
}

void replace_in(graph& g, stage& s, node_id from, node_id to) {
  replacement put(g);
  put.add(from, to);
  s.body = put(s.body);
}

// Lanes along a result's index with the bound ones striding through more memory than the cache holds: each block of
// rows is better read as it lies.
bool walks_columns(const graph& g, const facts& known, const stage& s, node_id n) {
  if (s.vector == no_node || s.loops.size() != 1 || !g.free[n].has(g.ordinal(s.vector))) return false;
  index_set all = g.free[n];
  all |= set_of(g, bound_indices(g, n));
  return known.trips(all) > 1 << 20;
}

// A scatter that is the whole body stays; one inside becomes a stage.
bool take_scatter(graph& g, stage& s, std::vector<stage>& before) {
  for (const node_id n : reductions_in(g, s.body)) {
    const node_id normal = condition_of_any(g, n);
    const scatter_form form = scatter_of(g, normal);
    if (form.how == way::map) continue;
    if (n != s.body && !has_closed_ranges(g, n)) continue;  // no array holds its values: it stays a loop
    node_id simpler = normal == n ? counted(g, n) : normal;
    if (simpler == n) simpler = nested(g, n, form);
    if (simpler != n) {
      replace_in(g, s, n, simpler);
      return true;
    }
    const element type = g.type(n);
    const bool narrow = type == element::f16 || type == element::bf16;
    if (n == s.body && !narrow) {
      if (s.how != way::map) continue;
      s.how = form.how;
      s.owned = form.owned;
      s.reasons.push_back(form.how == way::scatter
                              ? "scatter: its condition fixes an index by data; pieces own rows"
                              : "interval scatter: its condition is a range made of data; pieces own rows");
      continue;
    }
    const node_id wide = narrow ? intern_reduce(g, monoid_of(g, n), element::f32, cast_to(g, element::f32, g.arg(n, 0)),
                                                g.arg(n, 1), bound_indices(g, n))
                                : n;
    stage like = s;
    like.vector = no_node;
    const node_id at = stored(g, wide, "scattered", like, before, "a scatter inside an expression");
    replace_in(g, s, n, cast_to(g, type, at));
    return true;
  }
  return false;
}

bool take_split(graph& g, const facts& known, stage& s, std::vector<stage>& before, trust& trusted) {
  if (s.how != way::map) return false;
  const auto all = reductions_in(g, s.body);
  for (const node_id n : all) {
    // Enough pieces without it, or read along its own rows: no need.
    bool nested = false;
    for (const node_id other : all)
      if (other != n)
        for (const node_id idx : bound_indices(g, other)) nested = nested || g.free[n].has(g.ordinal(idx));
    if (nested) continue;
    index_set outer = g.free[n];
    double pieces = known.trips(outer);
    if (s.vector != no_node && outer.has(g.ordinal(s.vector)))
      pieces /= std::min<double>(s.lanes, known.trips(s.vector));
    if (pieces >= known.pieces(enough_pieces) && !walks_columns(g, known, s, n)) continue;
    const node_id whole = split(g, known, n, s, before, trusted);
    if (whole == no_node) continue;
    replace_in(g, s, n, whole);
    return true;
  }
  return false;
}

// Ties ask whether a value is the maximum of such values: one with a reduction in it must not be computed anew in
// another order or with other lanes, so it is stored once.
bool take_ties(graph& g, stage& s, std::vector<stage>& before) {
  node_id tied = no_node;
  for_each_node(g, s.body, [&](node_id n) {
    if (tied != no_node || g.kind(n) != op::equal || !is_floating(g.type(g.arg(n, 0)))) return;
    for (int k = 0; k < 2 && tied == no_node; ++k) {
      const node_id value = g.arg(n, 1 - k);
      if (g.free[value].empty() || !holds(g, value, op::reduce) || !has_closed_ranges(g, value)) continue;
      for_each_node(g, g.arg(n, k), [&](node_id q) {
        if (g.kind(q) == op::reduce && (monoid_of(g, q) == monoid::max || monoid_of(g, q) == monoid::min) &&
            g.arg(q, 0) == value)
          tied = value;
      });
    }
  });
  if (tied == no_node) return false;
  replace_in(g, s, tied,
             stored(g, tied, "kept", s, before, "ties compare it with a maximum over it: both read one value"));
  return true;
}

// A scatter walks each piece's rows within its bound indices: what those rows do not change is better read. What
// depends on none of its indices is, as it would stand before the loop that pieces share.
bool take_from_scatter(graph& g, const facts& known, stage& s, std::vector<stage>& before) {
  index_set all = g.free[s.body];
  all |= set_of(g, bound_indices(g, s.body));
  for (const node_id n : reductions_in(g, s.body)) {
    if (n == s.body || !has_closed_ranges(g, n)) continue;
    const auto& brief = s.slices.brief;  // these stay where they are
    if (std::find(brief.begin(), brief.end(), g.arg(n, 2)) != brief.end()) continue;
    if (!g.free[n].empty() && known.trips(all) <= repeats_allowed * known.trips(g.free[n])) continue;
    replace_in(g, s, n, stored(g, n, "kept", s, before, "a scatter would compute it for each of its rows"));
    return true;
  }
  return false;
}

bool take_misplaced(graph& g, const facts& known, stage& s, std::vector<stage>& before) {
  if (s.how == way::scatter || s.how == way::interval) return take_from_scatter(g, known, s, before);
  if (s.how != way::map) return false;
  const found f = placement(g, known, s)();
  if (f.node == no_node) return false;
  replace_in(g, s, f.node, stored(g, f.node, "kept", s, before, f.reason));
  return true;
}

void work_on(graph& g, const facts& known, stage s, std::vector<stage>& done, trust& trusted) {
  const bool ready = s.how == way::lists || s.how == way::updates || s.how == way::events || s.how == way::sweep ||
                     s.how == way::space;
  if (ready) return done.push_back(std::move(s));
  s.body = narrowed(g, s.body, trusted);
  for (;;) {
    schedule(g, known, s);
    if (s.how == way::tiles) return done.push_back(std::move(s));
    std::vector<stage> before = done;
    const std::size_t count = done.size();
    const bool changed = take_scatter(g, s, before) || take_per_slice(g, known, s, before, trusted) ||
                         take_sweep(g, known, s, before, trusted) || take_tiles(g, known, s, before, trusted) ||
                         take_levels(g, known, s, before, trusted) || take_spread(g, known, s, before, trusted) ||
                         take_scan(g, known, s, before, trusted) || take_kept_results(g, known, s, before) ||
                         take_ties(g, s, before) || take_repeated(g, known, s, before) ||
                         take_misplaced(g, known, s, before) || take_split(g, known, s, before, trusted);
    if (!changed) {
      take_taps(g, known, s);
      break;
    }
    for (std::size_t i = count; i < before.size(); ++i) {
      const auto same = [&](const stage& t) { return t.define == before[i].define && t.how == before[i].how; };
      if (std::none_of(done.begin(), done.end(), same)) work_on(g, known, before[i], done, trusted);
    }
  }
  if (s.how != way::map) schedule(g, known, s);
  if (take_atomic(g, known, s)) return done.push_back(std::move(s));
  if (list_slices(g, known, s, done) || list_updates(g, known, s, done)) schedule(g, known, s);
  done.push_back(std::move(s));
}

}  // namespace

void materialise(graph& g, const facts& known, std::vector<stage>& stages, trust& trusted) {
  std::vector<stage> done;
  for (stage& s : stages) work_on(g, known, std::move(s), done, trusted);
  // What was computed anew where it is needed is no longer stored.
  const read_table table(g, done);
  for (auto s = done.end(); s != done.begin();) {
    --s;
    const bool read =
        std::any_of(s, done.end(), [&](const stage& other) { return table.reads(other.define, s->define); });
    if (s->where == place::workspace && !read) s = done.erase(s);
  }
  stages = std::move(done);
}

}  // namespace sheaf::inline v0_1::plan
