// Which ranges stand around every evaluation of a node: where one of them is empty, the node is evaluated nowhere.
// Shown by tests/numeric/classes.cpp.
#pragma once
#include <span>
#include <vector>

#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

class enclosing_ranges {
 public:
  // From the outputs among the stages, what is differentiated and what is demanded.
  enclosing_ranges(const graph& g, std::span<const stage> stages);

  // That those which extents alone decide have an element; but those of `walked`, in whose loops it is asked.
  node_id nonempty(graph& g, node_id n, const index_set& walked) const;

 private:
  void meet(node_id n, const std::vector<index_set>& ways);
  void visit(const graph& g, node_id n);

  std::vector<std::vector<index_set>> around_;  // by node: the ways in which it is met
  std::vector<bool> met_;
  bool changed_ = false;
};

}  // namespace sheaf::inline v0_1::plan
