#include <sheaf/jit/plan/storage_folding.hpp>

#include <algorithm>

#include <sheaf/jit/plan/kernels.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// The loop at this depth, if all stages run in it one after the other and read of each other what its iteration has
// stored; else none.
node_id shared_loop(const graph& g, const std::vector<const stage*>& list, std::size_t depth) {
  const auto loop_of = [&](const stage& s) {
    return s.how == way::stencil && depth < s.loops.size() && s.loops[depth] != s.vector ? s.loops[depth] : no_node;
  };
  const node_id idx = loop_of(*list.front());
  for (std::size_t i = 0; i < list.size() && idx != no_node; ++i) {
    if (loop_of(*list[i]) != idx) return no_node;
    for (std::size_t j = 0; j < i; ++j)
      if (!reads_only_at(g, *list[i], *list[j], idx)) return no_node;
  }
  return idx;
}

}  // namespace

void fold_storage(const graph& g, const facts& known, program_plan& plan) {
  if (known.call().gpu) return;  // its threads share the iterations
  for (const kernel_plan& k : plan.kernels) {
    if (k.parallel == no_node || k.task.chunk != 0 || k.promised) continue;
    std::vector<const stage*> list;
    for (const int i : k.stages) list.push_back(&plan.at(i));
    std::vector<node_id> iterations;
    for (node_id idx = shared_loop(g, list, 1); idx != no_node; idx = shared_loop(g, list, 1 + iterations.size()))
      iterations.push_back(idx);
    if (iterations.empty()) continue;
    for (const int i : k.stages) {
      stage& s = plan.at(i);
      const auto reads_elsewhere = [&](const stage& reader) {
        return plan.reads.reads(reader.define, s.define) && std::ranges::count(list, &reader) == 0;
      };
      if (s.where != place::workspace || std::ranges::any_of(plan.stages, reads_elsewhere)) continue;
      s.folded_storage = iterations;
      s.bytes /= max(1.0, known.trips(set_of(g, iterations)));
      s.reasons.push_back(
          "read where it was written, within one iteration of its serial loops: stored for one iteration at a time");
    }
  }
}

}  // namespace sheaf::inline v0_1::plan
