#include <sheaf/jit/plan/suspected.hpp>

#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// The size of the dimension that an index walks wherever the condition has it; no_node if it is more than a subscript.
node_id dimension_of(graph& g, node_id condition, node_id idx) {
  node_id size = no_node;
  bool subscript = true;
  for_each_node(g, condition, [&](node_id n) {
    for (int k = 0; k < g[n].count && g.kind(n) != op::extent; ++k) {
      if (g.arg(n, k) != idx) continue;
      const node_id own = g.kind(n) == op::load && k > 0 ? extent(g, g.arg(n, 0), k - 1) : no_node;
      subscript = subscript && own != no_node && (size == no_node || known_equal(g, size, own));
      size = own;
    }
  });
  return subscript ? size : no_node;
}

}  // namespace

node_id suspected(graph& g, const facts& known, const check& c, std::vector<stage>& first) {
  for (const node_id idx : c.indices) {
    if (!holds(g, g.arg(idx, 0), op::load) || !holds(g, g.arg(idx, 1), op::load)) continue;
    const node_id size = dimension_of(g, c.outside, idx);
    if (size == no_node || !known.value(size)) continue;
    const node_id whole = fresh_index(g, idx, integer(g, 0), size);
    replacement put(g);
    put.rename(idx, whole);
    const node_id outside = put(c.outside);
    amount slices = 1;
    for (const node_id other : c.indices)
      if (other != idx) slices *= known.trips(other);
    if (indices_of(g, g.free[outside]) != std::vector<node_id>{whole} ||
        known.trips(whole) > tuning::checks::rows_for_a_slice * slices)
      continue;
    stage s;
    s.body = intern_reduce(g, monoid::any, element::boolean, truth(g, true), outside, {whole});
    const std::string name = "suspected_" + c.tensor;
    s.define = define(g, g.name(name.data(), static_cast<int>(name.size())), s.body, nullptr, 0);
    s.made = origin::rule;
    s.reasons.push_back("subscript " + std::to_string(c.dimension) + " of " + c.tensor + " anywhere, before slices");
    first.push_back(std::move(s));
    return result_of(g, first.back());
  }
  return no_node;
}

}  // namespace sheaf::inline v0_1::plan
