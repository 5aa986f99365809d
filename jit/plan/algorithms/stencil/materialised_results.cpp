#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/algorithms/stencil/small_windows.hpp>
#include <sheaf/jit/plan/algorithms/stencil/stencil.hpp>
#include <sheaf/jit/plan/closed_bounds.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::stencil;

// The range that a narrowed one lies in: of its ends, the arms that depend on no index, or what they are at most.
struct closed_range {
  node_id low = no_node, high = no_node;
};
closed_range hull_of(graph& g, node_id idx) {
  closed_range r;
  std::vector<node_id> lows, highs;
  arms(g, g.arg(idx, 0), op::maximum, lows);
  arms(g, g.arg(idx, 1), op::minimum, highs);
  for (const node_id e : lows)
    if (r.low == no_node && is_uniform(g, e)) r.low = e;
  for (const node_id e : highs)
    if (r.high == no_node && is_uniform(g, e)) r.high = e;
  if (r.low == no_node && is_formula(g, g.arg(idx, 0))) r.low = closed_bounds_of(g, g.arg(idx, 0)).least;
  if (r.high == no_node && is_formula(g, g.arg(idx, 1))) r.high = closed_bounds_of(g, g.arg(idx, 1)).most;
  return r;
}

// Do a and b differ in the names of bound indices only? `names` has the pairs met so far.
bool alike(const graph& g, node_id a, node_id b, std::unordered_map<node_id, node_id>& names) {
  if (const auto met = names.find(a); met != names.end()) return met->second == b;
  if (a == b && g.kind(a) != op::index) {
    bool renamed = false;
    for (const auto& [from, to] : names) renamed = renamed || (from != to && g.free[a].has(g.ordinal(from)));
    if (!renamed) return true;
  }
  const op kind = g.kind(a);
  if (kind != g.kind(b) || g.type(a) != g.type(b) || g[a].count != g[b].count) return false;
  if (kind == op::input || kind == op::define || kind == op::extent || kind == op::index) return a == b;
  const std::int64_t proof = g.kind(a) == op::load ? proven_inside : 0;  // what is stored is proven or tested there
  if ((g[a].attribute | proof) != (g[b].attribute | proof)) return false;
  for (int k = kind == op::reduce ? 2 : g[a].count; k < g[a].count; ++k) {
    const node_id x = g.arg(a, k), y = g.arg(b, k);
    if (!alike(g, g.arg(x, 0), g.arg(y, 0), names) || !alike(g, g.arg(x, 1), g.arg(y, 1), names)) return false;
    names[x] = y;
  }
  for (int k = 0; k < (kind == op::reduce ? 2 : g[a].count); ++k)
    if (!alike(g, g.arg(a, k), g.arg(b, k), names)) return false;
  return true;
}

// What is within reductions and does not depend on what narrows their ranges: folds over windows, or running results.
class materialised_search {
 public:
  materialised_search(graph& g, const facts& known, const stage& s) : g_(g), known_(known), s_(s) {}

  node_id node = no_node;                      // what to keep
  node_id everywhere = no_node;                // the same at all places of the ranges
  std::map<node_id, node_id> whole;  // of narrowed indices around it: the same over the whole range

  bool operator()() { return find(s_.body); }

 private:
  bool find(node_id n) {
    if (g_.kind(n) == op::extent || g_.kind(n) == op::define) return false;
    if (!seen_.emplace(n, whole).second) return false;  // a part that many paths lead to is walked once
    if (!whole.empty() && (g_.kind(n) == op::reduce || is_elementwise(g_.kind(n))) && keepable(n)) return true;
    const auto before = whole;
    if (g_.kind(n) == op::reduce)
      for (const node_id idx : bound_indices(g_, n)) widen(idx);
    for (int k = g_.kind(n) == op::load ? 1 : 0; k < g_[n].count; ++k)
      if (g_.kind(g_.arg(n, k)) != op::index && find(g_.arg(n, k))) return true;
    whole = before;
    return false;
  }
  void widen(node_id idx) {
    if (g_.free[g_.arg(idx, 0)].empty() && g_.free[g_.arg(idx, 1)].empty()) return;
    const closed_range r = hull_of(g_, idx);
    if (r.low != no_node && r.high != no_node)
      whole[idx] = index(g_, index_name(g_, idx), index_serial(g_, idx), r.low, r.high);
  }
  bool keepable(node_id n) {
    if (!holds(g_, n, op::reduce) || !is_of_windows(n)) return false;
    index_set bound;
    for_each_node(g_, n, [&](node_id e) {
      if (g_.kind(e) == op::reduce) bound |= set_of(g_, bound_indices(g_, e));
    });
    replacement put(g_);
    bool uses = false;
    std::map<node_id, node_id> places;
    index_set taken = g_.free[n];
    taken |= bound;
    for (const auto& [idx, all] : whole) {
      if (bound.has(g_.ordinal(all)) || bound.has(g_.ordinal(idx))) return false;  // another index of that name
      // An index around n may have the name and the whole range.
      const node_id place =
          taken.has(g_.ordinal(all)) ? unused_index(g_, idx, g_.arg(all, 0), g_.arg(all, 1), taken) : all;
      taken.insert(g_.ordinal(place));
      places[idx] = place;
      put.add(idx, place);
      uses = uses || g_.free[n].has(g_.ordinal(idx));
    }
    if (!uses) return false;
    everywhere = put(n);
    const std::size_t most = std::max<std::size_t>(1, s_.indices.size());
    if (runs_ && indices_of(g_, g_.free[everywhere]).size() > most) return false;
    index_set around = g_.free[n];
    around |= set_of(g_, s_.indices);
    if (whole_rows_ && !moves_past(n)) return false;
    if (!has_closed_ranges(g_, everywhere) || known_.trips(g_.free[everywhere]) * 1.5 > known_.trips(around))
      return false;
    node = n;
    whole = places;
    return true;
  }

  // Do the ranges that n is read at move with indices that it does not depend on? Of those that it does it is a value
  // of pairs, of which tiles are computed where they are folded.
  bool moves_past(node_id n) const {
    return std::ranges::all_of(whole, [&](const auto& narrow) {
      if (!g_.free[n].has(g_.ordinal(narrow.first))) return true;
      return std::ranges::all_of(std::array{g_.arg(narrow.first, 0), g_.arg(narrow.first, 1)}, [&](node_id end) {
        return !g_.free[end].empty() && is_formula(g_, end) && !g_.free[end].meets(g_.free[everywhere]);
      });
    });
  }

  // Is a range cut by an index, and by nothing but indices and extents? Rules for running results see it once it is
  // stored.
  bool is_running(node_id idx) {
    const auto is_data = [&](node_id e) { return g_.kind(e) == op::load || g_.kind(e) == op::reduce; };
    const node_id low = g_.arg(idx, 0), high = g_.arg(idx, 1);
    const bool cut = !g_.free[low].empty() || !g_.free[high].empty();
    return cut && !any_node(g_, low, is_data) && !any_node(g_, high, is_data);
  }
  // Reductions inside are over windows: each range lies between two numbers. Or they are running results, which are
  // stored where they are of no more indices than what reads them, or over whole rows.
  bool is_of_windows(node_id n) {
    bool windows = true;
    runs_ = whole_rows_ = false;
    for_each_node(g_, n, [&](node_id e) {
      if (g_.kind(e) != op::reduce) return;
      windows = windows && !is_own(monoid_of(g_, e));
      for (const node_id idx : bound_indices(g_, e)) {
        const closed_range r = hull_of(g_, idx);
        const bool closed = r.low != no_node && r.high != no_node;
        const bool between_numbers = closed && is_constant(g_, r.low) && is_constant(g_, r.high);
        const bool whole = is_closed(g_, idx);
        runs_ = runs_ || !between_numbers;
        whole_rows_ = whole_rows_ || (whole && !between_numbers);
        windows = windows && (between_numbers || whole || (closed && is_running(idx)));
      }
    });
    return windows;
  }

  graph& g_;
  const facts& known_;
  const stage& s_;
  bool runs_ = false, whole_rows_ = false;  // running results, folds of rows are within
  std::set<std::pair<node_id, std::map<node_id, node_id>>> seen_;
};

// A stage that stores this already, or a new one; its indices in the order of a stage over the same ones.
node_id stored_everywhere(const context& c, node_id value, const stage& s) {
  const auto& [g, known, before] = c;
  for (const stage& t : before) {
    std::unordered_map<node_id, node_id> names;
    const node_id stored = g.arg(t.define, 0);
    if (t.where != place::check && names_all(g, stored, t.indices) && alike(g, value, stored, names))
      return result_of(g, t);
  }
  stage like = s;
  for (const stage& t : before) {
    index_set own;
    for (const node_id idx : t.indices) own.insert(g.ordinal(idx));
    if (own == g.free[value]) like = t;
  }
  like.vector = like.indices.empty() ? no_node : like.indices.back();
  return stored(c, value, {"materialised", like, "asked for at several places by what reads it"});
}

}  // namespace

bool take_materialised_results(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  if (s.how != way::map || s.where == place::check) return false;
  materialised_search search(g, known, s);
  if (!search()) return false;
  replacement back(g), put(g);
  for (const auto& [idx, all] : search.whole) back.add(all, idx);
  put.add(search.node, back(stored_everywhere(c, search.everywhere, s)));
  s.body = put(s.body);
  return true;
}

}  // namespace sheaf::inline v0_1::plan
