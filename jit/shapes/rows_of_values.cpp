#include <sheaf/jit/shapes/rows_of_values.hpp>

#include <vector>

namespace sheaf::inline v0_1::shapes {

namespace {

class search {
 public:
  search(const graph& g, const joined_extents& same) : g_(g), same_(same), seen_(static_cast<std::size_t>(g.size())) {}

  int found = -1;

  // What a node is made of comes before it.
  void visit(node_id n) {
    if (n == no_node || found >= 0 || g_.kind(n) == op::extent || seen_[static_cast<std::size_t>(n)]) return;
    seen_[static_cast<std::size_t>(n)] = true;
    for (int k = 0; k < g_[n].count; ++k) visit(g_.arg(n, k));
    if (found >= 0) return;
    const int last = g_[n].count - 1;
    if (g_.kind(n) == op::define && last > 1) note(g_.arg(n, 0), g_.arg(n, last));
    if (g_.kind(n) == op::reduce && last == 2 && !g_.free[n].empty()) note(g_.arg(n, 0), g_.arg(n, 2));
  }

 private:
  void note(node_id value, node_id idx) {
    if (end_of(g_, idx) >= 0 && folds_for(value, idx)) found = size_of(idx);
  }
  int size_of(node_id idx) const { return same_.of(end_of(g_, idx)); }
  // Is a reduction over another dimension in it that depends on the index?
  bool folds_for(node_id n, node_id idx) const {
    if (n == no_node || !g_.free[n].has(g_.ordinal(idx))) return false;
    if (g_.kind(n) == op::reduce) return end_of(g_, g_.arg(n, 2)) >= 0 && size_of(g_.arg(n, 2)) != size_of(idx);
    for (int k = 0; is_elementwise(g_.kind(n)) && k < g_[n].count; ++k)
      if (folds_for(g_.arg(n, k), idx)) return true;
    return false;
  }

  const graph& g_;
  const joined_extents& same_;
  std::vector<bool> seen_;
};

}  // namespace

int rows_of_values(const graph& g, const joined_extents& same) {
  search all(g, same);
  for (const node_id output : g.outputs) all.visit(output);
  return all.found;
}

}  // namespace sheaf::inline v0_1::shapes
