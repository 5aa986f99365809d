#include <sheaf/jit/plan/placement.hpp>

#include <algorithm>

#include <sheaf/jit/plan/algorithms/stencil/stencil.hpp>
#include <sheaf/jit/plan/collapsed_rows.hpp>
#include <sheaf/jit/plan/cuts.hpp>
#include <sheaf/jit/plan/partial_results.hpp>
#include <sheaf/jit/plan/products.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/split.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/sums_apart.hpp>
#include <sheaf/jit/tuning/products.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::placement;

struct found {
  node_id node = no_node;
  std::string reason;
};

// The first reduction that a nest of `loops` would compute too often. `bound`: loops inside the stage's own.
class placement {
 public:
  placement(const graph& g, const facts& known, const stage& s, bool of_reductions = false)
      : g_(g), known_(known), s_(s), of_reductions_(of_reductions) {}

  found operator()() {
    walk(s_.body, s_.loops);
    return result_;
  }

 private:
  void walk(node_id n, const std::vector<node_id>& loops) {
    if (result_.node != no_node || !seen_.insert(n).second) return;
    if (g_.kind(n) == op::reduce) return reduction(n, loops);
    // The range of a bound index is walked where it is bound; that of a loop of the stage stays as it is.
    if (g_.kind(n) == op::extent || g_.kind(n) == op::define || g_.kind(n) == op::index) return;
    if (!of_reductions_ && repeats_much(n, loops)) return;
    for (int k = g_.kind(n) == op::load ? 1 : 0; k < g_[n].count; ++k) walk(g_.arg(n, k), loops);
  }

  // Divisions and functions of few values in the innermost of many iterations: read from an array they cost a load.
  bool repeats_much(node_id n, const std::vector<node_id>& loops) {
    if (!is_elementwise(g_.kind(n)) || !is_floating(g_.type(n)) || g_.free[n].empty()) return false;
    index_set prefix, all;
    for (const node_id idx : loops) {
      if (!g_.free[n].within(prefix)) prefix.insert(g_.ordinal(idx));
      all.insert(g_.ordinal(idx));
    }
    if (prefix == g_.free[n] || !has_closed_ranges(g_, n) || !is_slow(g_, n)) return false;
    const amount placed = known_.trips(prefix), needed = known_.trips(g_.free[n]);
    if (!all_of({{placed, often}, {placed, repeats_of_slow * needed}, {placed * 4, known_.trips(all)}})) return false;
    result_ = {n, "computed in " + count_text(placed) + " iterations, it has " +
                      count_text(needed) + " values"};
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
    const amount placed = known_.trips(prefix), needed = known_.trips(g_.free[n]);
    if (!s_.loops.empty() && depth == 0) {
      result_ = {n, "it does not depend on the loops: tasks would repeat it"};
      return;
    }
    if (stores && placed > repeats_allowed * needed) {
      result_ = {n, "its place in the nest runs " + count_text(placed) + " times, it has " + count_text(needed) +
                        " values"};
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
  const bool of_reductions_;  // not of slow functions
  std::unordered_set<node_id> seen_;
  found result_;
};

// Lanes along a result's index with the bound ones striding through more memory than the cache holds: each block of
// rows is better read as it lies.
bool may_walk_columns(const graph& g, const stage& s, node_id n) {
  return s.vector != no_node && s.loops.size() == 1 && g.free[n].has(g.ordinal(s.vector));
}
bool walks_columns(const graph& g, const facts& known, const stage& s, node_id n) {
  if (!may_walk_columns(g, s, n)) return false;
  index_set all = g.free[n];
  all |= set_of(g, bound_indices(g, n));
  return known.trips(all) > beyond_cache;
}

// A scatter walks each task's rows within its bound indices: what those rows do not change is better read. What
// depends on none of its indices is, as it would stand before the loop that tasks share.
bool take_from_scatter(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  index_set all = g.free[s.body];
  all |= set_of(g, bound_indices(g, s.body));
  for (const node_id n : reductions_in(g, s.body)) {
    if (n == s.body || !has_closed_ranges(g, n)) continue;
    // Of a slice and a row in it: most pairs are of no slice.
    const bool pairs = s.how == way::range_scatter && g.free[n].has(g.ordinal(s.owned)) &&
                       g.free[n].meets(set_of(g, bound_indices(g, s.body)));
    if (pairs) continue;
    const auto& shorts = s.slices.shorts;  // these stay where they are
    if (std::ranges::find(shorts, g.arg(n, 2)) != shorts.end()) continue;
    if (!g.free[n].empty() && known.trips(all) <= repeats_allowed * known.trips(g.free[n])) continue;
    store_by_itself(c, s, n, "a scatter would compute it for each of its rows");
    return true;
  }
  return false;
}

// Of so few results that blocks of what is multiplied stay in L2 till all are folded.
bool is_product_of_few(const graph& g, const facts& known, node_id n) {
  using namespace tuning::products;
  return is_product(g, known, n, rows_of_task) && known.trips(g.free[n]) <= few_results;
}

// Within a fold over rows, which one task would take where they are few: what is folded along each is cut instead.
bool is_of_few_rows(const context& c, node_id n) {
  const shapes::at_least few = shapes::less_than(c.known.trips(c.g.free[n]), 2 * c.known.enough_tasks());
  return has_closed_ranges(c.g, n) && is_long(c, n, std::span(&few, 1));
}

// Is each result's own so long that its blocks are, too? Then there may be fewer results than the class has usually.
bool is_long_by_itself(const context& c, const stage& s, node_id n) {
  namespace blocks = numerics::split;
  const auto& [g, known, before] = c;
  if (g.free[n] != set_of(g, s.loops) || s.vector != no_node || bound_indices(g, n).size() < 2) return false;
  return known.trips(set_of(g, bound_indices(g, n))) >= blocks::long_result &&
         known.trips(g.free[n]) <= blocks::most_results && run_of(c, n, s).cut != no_node;
}

}  // namespace

bool take_split(const context& of_call, stage& s) {
  const context c{of_call.g, of_call.known.bits(), of_call.before};
  const auto& [g, known, before] = c;
  if (s.how != way::map || s.short_rows) return false;
  const auto all = reductions_in(g, s.body);
  for (const node_id n : all) {
    if (is_term_by_term(g, n)) continue;
    // Enough tasks without it, or read along its own rows: no need.
    bool nested = false;
    for (const node_id other : all)
      if (other != n)
        for (const node_id idx : bound_indices(g, other)) nested = nested || g.free[n].has(g.ordinal(idx));
    if (nested && !is_of_few_rows(c, n)) continue;
    if (!may_split(c, n, s)) continue;
    index_set outer = g.free[n];
    amount tasks = known.trips(outer);
    if (s.vector != no_node && outer.has(g.ordinal(s.vector)))
      tasks /= min(s.lanes, known.trips(s.vector));
    if (is_product_of_few(g, known, n)) tasks /= tuning::products::rows_of_task;
    const double enough = 2 * known.enough_tasks();
    const shapes::at_least few = shapes::less_than(tasks, enough);
    const bool columns = known.for_groups() || may_walk_columns(g, s, n);
    // One question, but of what may walk columns, for which there may be tasks enough.
    const auto asked = columns ? std::span<const shapes::at_least>() : std::span(&few, 1);
    if (!known.for_groups() && !is_long(c, n, asked) && !is_long_by_itself(c, s, n)) continue;
    if (columns && tasks >= enough && !walks_columns(g, known, s, n)) continue;
    if (const node_id apart = is_long(c, n, {}) ? sums_apart(c, n) : no_node; apart != no_node) {
      s.reasons.push_back("multiples of sums that wait for no other fold");
      replace_in(g, s, n, apart);
      return true;
    }
    const node_id rows = with_collapsed_rows(c, n, s);
    node_id whole = split(c, rows, s);
    if (whole != no_node && rows != n) s.reasons.push_back("rows of several indices are walked as those of one");
    if (whole == no_node && rows != n) whole = split(c, n, s);
    if (whole == no_node) continue;
    replace_in(g, s, n, whole);
    return true;
  }
  return false;
}

namespace {

// Windows along the last index are written out, and its lanes are within all others (rule `unrolled stencil`): does the
// nest compute one too often then?
found misplaced_in_stencil(const context& c, const stage& s) {
  if (s.loops == s.indices) return {};
  stage nest = s;
  nest.loops = s.indices;
  const found f = placement(c.g, c.known, nest, true)();
  const bool in_lanes = f.node != no_node && c.g.free[f.node].has(c.g.ordinal(s.indices.back()));
  return in_lanes && take_stencil(c, nest) ? f : found();
}

}  // namespace

bool take_misplaced(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  if (s.how == way::scatter || s.how == way::range_scatter) return take_from_scatter(c, s);
  if (s.how != way::map) return false;
  found f = placement(g, known, s)();
  if (f.node == no_node) f = misplaced_in_stencil(c, s);
  if (f.node == no_node) return false;
  store_by_itself(c, s, f.node, f.reason);
  return true;
}

}  // namespace sheaf::inline v0_1::plan
