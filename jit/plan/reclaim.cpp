#include <sheaf/jit/plan/reclaim.hpp>

#include <sheaf/jit/plan/roots.hpp>

namespace sheaf::inline v0_1::plan {

held_nodes::held_nodes(graph& g, const program_plan& plan) : g_(g) {
  live_.resize(g.size(), false);
  for (node_id n = 0; n < plan.written; ++n) add(n);
  for (const node_id n : g.outputs) add(n);
  for (const node_id n : g.differentiated) add(n);
  for (const demand& d : g.demands)
    for (const node_id n : {d.wrong, d.limit, d.found}) add(n);
  for (const check& c : plan.checks) {
    for (const node_id n : {c.subscript, c.least, c.most, c.low, c.high, c.outside}) add(n);
    for (const auto* list : {&c.indices, &c.sizes, &c.firsts})
      for (const node_id n : *list) add(n);
  }
  for (const kernel_plan& k : plan.kernels)
    for (const node_id n : {k.parallel, k.row}) add(n);
  for (const auto& [before, after] : plan.renamed) add(before), add(after);
}

void held_nodes::add(const stage& s) {
  add(s.define);
  for_each_root(s, [&](node_id n, root_kind) { add(n); });
  for (const vouched_load& v : s.vouched)
    for (const node_id n : {v.load, v.row, v.low, v.high}) add(n);
}

// Arguments stand before what uses them.
void held_nodes::add(node_id n) {
  if (n == no_node || live_[n]) return;
  std::vector<node_id> open{n};
  live_[n] = true;
  while (!open.empty()) {
    const node_id at = open.back();
    open.pop_back();
    for (int k = 0; k < g_[at].count; ++k)
      if (const node_id a = g_.arg(at, k); a != no_node && !live_[a]) live_[a] = true, open.push_back(a);
  }
}

}  // namespace sheaf::inline v0_1::plan
