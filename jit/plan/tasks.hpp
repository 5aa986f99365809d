// Which loop of a stage threads share. Shown by tests/jit/plan.cpp.
#pragma once
#include <span>

#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Whose iterations are tasks: of these the first with enough of them, else the longest; no_node: there is none.
inline node_id loop_of_tasks(const facts& known, std::span<const node_id> loops, double enough) {
  node_id found = no_node;
  for (const node_id idx : loops) {
    if (found == no_node || known.trips(idx) > known.trips(found)) found = idx;
    if (known.trips(found) >= enough) break;
  }
  return found;
}

// Tasks take iterations of this loop: it is the outermost.
inline void share(stage& s, node_id idx) {
  s.parallel = idx;
  std::erase(s.loops, idx);
  s.loops.insert(s.loops.begin(), idx);
}

}  // namespace sheaf::inline v0_1::plan
