// Which nodes a program's text and kernels are made of: what outputs, checked definitions, demands and constraints
// hold. All of a graph that has no outputs yet. Shown by tests/text/round_trip.cpp.
#pragma once
#include <sheaf/dsl/graph/graph.hpp>

namespace sheaf::inline v0_1 {

class reached_nodes {
 public:
  constexpr explicit reached_nodes(const graph& g) : g_(g) {
    marks_.resize(g.size(), g.outputs.empty());
    for (const node_id y : g.outputs) reach(y);
    for (const node_id y : g.differentiated) reach(y);
    for (const demand& d : g.demands)
      for (const node_id n : {d.wrong, d.limit, d.found})
        if (n != no_node) reach(n);
    for (const constraint& c : g.constraints) {
      reach(c.left);
      reach(c.right);
    }
  }
  constexpr bool operator[](node_id n) const { return marks_[n]; }

 private:
  constexpr void reach(node_id n) {
    if (marks_[n]) return;
    marks_[n] = true;
    for (int k = 0; k < g_[n].count; ++k) reach(g_.arg(n, k));
  }

  const graph& g_;
  flat<bool> marks_;
};

}  // namespace sheaf::inline v0_1
