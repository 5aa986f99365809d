#include <sheaf/jit/plan/algorithms/window/separate_windows.hpp>

#include <algorithm>

#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/sliding.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

namespace separate = numerics::separate_windows;

std::int64_t places_of(const graph& g, node_id idx) {
  const node_id low = g.arg(idx, 0), high = g.arg(idx, 1);
  return is_constant(g, low) && is_constant(g, high) ? g[high].attribute - g[low].attribute : 0;
}

// Along which index, and over which, rows are shared; over == no_node: it would save too little.
sliding worth_it(graph& g, node_id n, const stage& s) {
  std::int64_t all = 1;
  const auto bound = bound_indices(g, n);
  for (const node_id u : bound) all *= places_of(g, u);
  if (all < separate::least_places || all > separate::most_places) return {};
  for (const node_id u : bound)
    for (const node_id t : indices_of(g, g.free[n])) {
      if (t == s.indices.back() || std::ranges::find(s.indices, t) == s.indices.end()) continue;
      const sliding r = sliding_along(g, n, t, u);
      if (r.over == no_node || r.stride < 1 || r.step != 1 || width_of(g, r) != places_of(g, u)) continue;
      const std::int64_t width = places_of(g, u);
      if (separate::factor * (r.stride * all / width + width + separate::stored) <= all) return r;
    }
  return {};
}

}  // namespace

node_id take_separate_windows(const context& c, node_id n, const stage& s) {
  const auto& [g, known, before] = c;
  const monoid fold = monoid_of(g, n);
  if (known.for_groups() || s.indices.size() < 2 || g[n].count < 4 || holds(g, g.arg(n, 0), op::reduce)) return no_node;
  if (fold != monoid::max && fold != monoid::min && fold != monoid::sum) return no_node;
  const sliding r = worth_it(g, n, s);
  if (r.over == no_node) return no_node;
  const walked w = value_along(g, r);
  stage like = s;
  like.vector = s.indices.back();
  std::ranges::replace(like.indices, r.over, w.walk);
  const node_id rows =
      proven(g, stored(c, w.value, {"rows_of_windows", like, "a fold of each row, which all windows with it share"}));
  const node_id u = fresh_index(g, r.bound, integer(g, 0), integer(g, width_of(g, r)));
  replacement put(g);
  put.add(w.walk, make(g, op::add, r.low, u));
  return intern_reduce(g, fold, g.type(n), proven(g, put(rows)), truth(g, true), {u});
}

}  // namespace sheaf::inline v0_1::plan
