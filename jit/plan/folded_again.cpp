#include <sheaf/jit/plan/folded_again.hpp>

#include <algorithm>
#include <unordered_set>

#include <sheaf/jit/plan/walks.hpp>
#include <sheaf/jit/tuning/products.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// Does it fold rows of what lies in memory, each for one of its values?
bool folds_rows(const graph& g, const facts& known, const std::vector<stage>& stages, node_id define) {
  const auto lies = [&](node_id tensor) {
    return g.kind(tensor) == op::input || std::ranges::find(stages, tensor, &stage::define) != stages.end();
  };
  const index_set all = set_of(g, arguments(g, define, 1));
  return !all.empty() && any_node(g, g.arg(define, 0), [&](node_id n) {
    if (g.kind(n) != op::reduce || row(monoid_of(g, n)).position || is_own(monoid_of(g, n))) return false;
    const index_set bound = set_of(g, bound_indices(g, n));
    const bool closed = std::ranges::all_of(bound_indices(g, n), [&](node_id idx) { return is_closed(g, idx); });
    const bool rows = any_node(g, g.arg(n, 0), [&](node_id e) {
      return g.kind(e) == op::load && lies(g.arg(e, 0)) && all.within(g.free[e]) && g.free[e].meets(bound);
    });
    return closed && rows && known.bits().trips(bound) >= tuning::products::least_terms_again;
  });
}

// Is `use` in what a reduction binds, but for what others bind of it?
bool binds(const graph& g, node_id reduce, node_id use) {
  std::unordered_set<node_id> seen;
  const auto walk = [&](auto&& self, node_id n) -> bool {
    if (n == use) return true;
    if (!seen.insert(n).second || g.kind(n) == op::extent) return false;
    if (g.kind(n) == op::reduce && set_of(g, bound_indices(g, n)).meets(g.free[use])) return false;
    for (int k = g.kind(n) == op::load ? 1 : 0; k < g[n].count; ++k)
      if (self(self, g.arg(n, k))) return true;
    return false;
  };
  return set_of(g, bound_indices(g, reduce)).meets(g.free[use]) &&
         (walk(walk, g.arg(reduce, 0)) || walk(walk, g.arg(reduce, 1)));
}

}  // namespace

// Does a reduction read what the definition folds for itself? Then it folds that where it walks those rows.
static bool walks_rows(const graph& g, node_id reduce, node_id define) {
  return std::ranges::any_of(loads_in(g, g.arg(define, 0)), [&](node_id n) {
    return g[n].count > 2 && reads(g, g.arg(reduce, 0), g.arg(n, 0));
  });
}

bool is_folded_again(const graph& g, const facts& known, const std::vector<stage>& stages, node_id use) {
  const node_id define = g.arg(use, 0);
  if (known.for_groups() || !folds_rows(g, known, stages, define)) return false;
  std::unordered_set<node_id> folds;
  for (const stage& s : stages)
    for (const node_id n : reductions_in(g, s.body))
      if (binds(g, n, use) && !walks_rows(g, n, define)) folds.insert(n);
  return folds.size() > 1;
}

}  // namespace sheaf::inline v0_1::plan
