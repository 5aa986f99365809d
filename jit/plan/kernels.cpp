#include <sheaf/jit/plan/kernels.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::plan {

namespace {

bool reads(const graph& g, node_id root, const stage& writer) {
  bool found = false;
  for_each_node(g, root, [&](node_id n) { found = found || (g.kind(n) == op::load && g.arg(n, 0) == writer.define); });
  return found;
}

// The reader's leading index under the writer's name, so that values can be shared.
void rename_parallel(graph& g, stage& s, node_id to, trust& trusted) {
  const node_id from = s.parallel;
  replacement put(g);
  put.add(from, to);
  trust_alike(g, s.body, put, trusted);
  s.body = put(s.body);
  for (auto* list : {&s.indices, &s.loops})
    for (node_id& idx : *list) idx = put(idx);
  if (s.vector != no_node) s.vector = put(s.vector);
  s.parallel = to;
}

bool uses_index(const graph& g, const stage& s, node_id idx) {
  bool found = false;
  for_each_node(g, s.body, [&](node_id n) { found = found || n == idx; });
  return found || std::find(s.indices.begin(), s.indices.end(), idx) != s.indices.end();
}

bool may_join(graph& g, const program_plan& plan, const kernel_plan& k, stage& s, trust& trusted) {
  const stage& leader = plan.stages[static_cast<std::size_t>(k.stages.front())];
  if (leader.where == place::check || s.where == place::check) return false;
  if (leader.how != s.how || (s.how != way::map && s.how != way::taps)) return false;
  if ((k.parallel == no_node) != (s.parallel == no_node) || (k.chunk == 0) != (s.chunk == 0)) return false;
  if (k.parallel == no_node) return true;
  stage renamed = s;
  if (k.parallel != s.parallel) {
    const bool same = known_equal(g, g.arg(k.parallel, 0), g.arg(s.parallel, 0)) && known_equal(g, g.arg(k.parallel, 1), g.arg(s.parallel, 1));
    if (!same || uses_index(g, s, k.parallel)) return false;
    rename_parallel(g, renamed, k.parallel, trusted);
  }
  for (const int other : k.stages)
    if (!reads_only_at(g, renamed, plan.stages[static_cast<std::size_t>(other)], k.parallel)) return false;
  s = std::move(renamed);
  return true;
}

}  // namespace

bool reads_only_at(const graph& g, const stage& reader, const stage& writer, node_id idx) {
  bool only = true;
  for_each_node(g, reader.body, [&](node_id n) {
    // Below a reduction over idx itself it is another one: all of its places are read at each.
    if (g.kind(n) == op::reduce) {
      const auto bound = bound_indices(g, n);
      if (std::find(bound.begin(), bound.end(), idx) != bound.end()) only = only && !reads(g, n, writer);
    }
    if (g.kind(n) != op::load || g.arg(n, 0) != writer.define) return;
    bool at = false;
    for (std::size_t d = 0; d < writer.indices.size(); ++d) at = at || (writer.indices[d] == idx && g.arg(n, 1 + static_cast<int>(d)) == idx);
    only = only && at;
  });
  return only;
}

void group(graph& g, const facts& known, program_plan& plan) {
  std::vector<std::size_t> home(plan.stages.size());
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    stage& s = plan.stages[i];
    std::size_t first = 0;
    for (std::size_t j = 0; j < i; ++j)
      if (reads(g, s.body, plan.stages[j])) first = std::max(first, home[j]);
    std::size_t k = first;
    while (k < plan.kernels.size() && !may_join(g, plan, plan.kernels[k], s, plan.trusted)) ++k;
    if (k == plan.kernels.size()) {
      kernel_plan fresh;
      fresh.name = name_of(g, s.define);
      fresh.parallel = s.parallel;
      fresh.chunk = s.chunk;
      plan.kernels.push_back(std::move(fresh));
    }
    plan.kernels[k].stages.push_back(static_cast<int>(i));
    home[i] = k;
  }
  for (kernel_plan& k : plan.kernels) {
    // Loops over one index are shared only where their lanes agree.
    for (const int i : k.stages)
      for (const int j : k.stages) {
        stage &a = plan.stages[static_cast<std::size_t>(i)], &b = plan.stages[static_cast<std::size_t>(j)];
        if (a.vector != no_node && a.vector == b.vector) a.lanes = b.lanes = std::min(a.lanes, b.lanes);
      }
    double work = 0;
    for (const int i : k.stages) work += plan.stages[static_cast<std::size_t>(i)].operations;
    const double turns = k.parallel == no_node ? 1 : std::max(1.0, known.trips(k.parallel) / static_cast<double>(std::max<std::int64_t>(k.chunk, 1)));
    k.cost = std::max(1.0, work * 0.5 / turns);
  }
}

}  // namespace sheaf::plan
