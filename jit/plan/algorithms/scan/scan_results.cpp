#include <sheaf/jit/plan/algorithms/scan/scan_results.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/dsl/graph/monoids.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

bool is_function_of_scan(const context& c, const stage& s, const sliding& r) {
  graph& g = c.g;
  const node_id n = r.reduce;
  if (!c.known.for_groups() || s.how != way::map || s.where == place::check || s.short_rows || n == s.body)
    return false;
  if (row(monoid_of(g, n)).position || !names_all(g, n, s.indices)) return false;
  const walked w = value_along(g, r);
  for (const int end : {0, 1})
    if (!known_equal(g, g.arg(w.walk, end), g.arg(r.over, end))) return false;
  const bound_line low = bound_of(g, r.low, r.over), high = bound_of(g, r.high, r.over);
  const bool backward = low.slope == 1;
  if (g[backward ? low.rest : high.rest].attribute != (backward ? 0 : 1)) return false;
  replacement put(g, proofs::kept);
  put.rename(n, number_like(g, n, 0));
  const node_id rest = put(s.body);
  return !holds(g, rest, op::reduce) && !holds(g, rest, op::tuple) && std::ranges::all_of(s.indices, [&](node_id idx) {
    return may_vectorise(g, rest, idx);
  });
}

void name_function(graph& g, scan_form& f, const sliding& r, node_id body) {
  replacement place(g, proofs::kept);
  place.add(r.over, f.walk);
  f.folded = place(r.reduce);
  f.result = place(body);
}

void read_function(graph& g, stage& s) {
  const scan_form& f = s.scan();
  replacement put(g, proofs::kept);
  put.rename(f.folded, number_like(g, f.folded, 0));
  flat<node_id> read = g.kind(s.body) == op::tuple ? values_of(g, s.body) : flat<node_id>{};
  if (g.kind(s.body) != op::tuple) read.push(s.body);
  read.push(put(f.result));
  s.body = tuple(g, read);
  s.reasons.push_back("a function of each result is stored");
}

node_id as_used(graph& g, node_id body, node_id n) {
  node_id found = n;
  int uses = 0;
  if (!folds_tuple(g, n)) return n;
  for_each_node(g, body, [&](node_id e) {
    if (g.kind(e) == op::load || g.kind(e) == op::index) return;
    for (int k = 0; k < g[e].count; ++k) uses += g.arg(e, k) == n;
    if (g.kind(e) == op::cast && g.arg(e, 0) == n && is_floating(g.type(e))) found = e;
  });
  return uses == 1 ? found : n;
}

}  // namespace sheaf::inline v0_1::plan
