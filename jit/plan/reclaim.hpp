// Indices that rules made and no stage has any more: a program may have only so many (index_set), so a plan with many
// stages gives their ordinals to others.
// Shown by tests/jit/reclaim.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// What is held of a graph: all that the program itself is made of, and what is added.
class held_nodes {
 public:
  held_nodes(graph& g, const program_plan& plan);

  void add(const stage& s);
  void add(const std::vector<stage>& stages) {
    for (const stage& s : stages) add(s);
  }
  // Whatever else refers to the graph must not be used any more.
  void reclaim_others() { g_.reclaim(live_); }

 private:
  void add(node_id n);

  graph& g_;
  flat<char> live_;  // by node
};

}  // namespace sheaf::inline v0_1::plan
