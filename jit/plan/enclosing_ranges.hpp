// Which ranges stand around every evaluation of a node: where one of them is empty, the node is evaluated nowhere.
// Shown by tests/numeric/classes.cpp.
#pragma once
#include <vector>

#include <sheaf/dsl/graph/graph.hpp>

namespace sheaf::inline v0_1::plan {

class enclosing_ranges {
 public:
  // From the graph's outputs, what is differentiated and what is demanded.
  explicit enclosing_ranges(const graph& g);

  // That those which extents alone decide have an element; but those of `walked`, in whose loops it is asked.
  node_id nonempty(graph& g, node_id n, const index_set& walked) const;

 private:
  void meet(node_id n, const index_set& around);
  void visit(const graph& g, node_id n);

  std::vector<index_set> around_;  // by node
  std::vector<bool> met_;
};

}  // namespace sheaf::inline v0_1::plan
