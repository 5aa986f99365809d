#include <sheaf/jit/engine/arrange.hpp>

#include <algorithm>
#include <cstdlib>

namespace sheaf::jit {

int closest_dimension(const sheaf_tensor& t, int rank) {
  int closest = rank - 1;
  std::int64_t least = 0;
  for (int d = rank - 1; d >= 0; --d) {
    const std::int64_t stride = std::llabs(t.strides[d]);
    if (t.extents[d] <= 1 || stride == 0 || (least != 0 && stride >= least)) continue;
    least = stride;
    closest = d;
  }
  return closest;
}

dimension_order with_last(int rank, int dimension) {
  dimension_order order;
  for (int d = 0; d < rank; ++d)
    if (d != dimension) order.push_back(d);
  if (rank > 0) order.push_back(dimension);
  return order;
}

bool is_as_given(const dimension_order& order) { return std::is_sorted(order.begin(), order.end()); }

dimension_order inverse(const dimension_order& order) {
  dimension_order back(order.size());
  for (std::size_t d = 0; d < order.size(); ++d) back[static_cast<std::size_t>(order[d])] = static_cast<int>(d);
  return back;
}

graph arranged(const graph& g, const std::vector<dimension_order>& orders) {
  if (std::all_of(orders.begin(), orders.end(), is_as_given)) return g;
  graph made;
  made.text = g.text;
  made.names = g.names;
  made.inputs = g.inputs;
  made.static_extents = g.static_extents;
  made.constraints = g.constraints;
  made.demands = g.demands;
  made.monoids = g.monoids;
  made.rules = g.rules;
  made.outputs = g.outputs;
  made.differentiated = g.differentiated;
  made.error = g.error;
  std::vector<dimension_order> places;
  for (int i = 0; i < g.inputs.size(); ++i) {
    const dimension_order& order = orders[static_cast<std::size_t>(i)];
    const std::int32_t first = g.inputs[i].first_extent;
    for (std::size_t d = 0; d < order.size(); ++d)
      made.static_extents[first + static_cast<int>(d)] = g.static_extents[first + order[d]];
    places.push_back(inverse(order));
  }
  // Nodes are interned in their order, and none becomes another's equal: each keeps its id.
  std::vector<node_id> list;
  for (node_id n = 0; n < g.size(); ++n) {
    list.clear();
    for (int k = 0; k < g[n].count; ++k) list.push_back(g.arg(n, k));
    std::int64_t attribute = g[n].attribute;
    const bool of_input = (g.kind(n) == op::load || g.kind(n) == op::extent) && g.kind(g.arg(n, 0)) == op::input;
    if (of_input) {
      const auto input = static_cast<std::size_t>(g[g.arg(n, 0)].attribute);
      if (g.kind(n) == op::extent)
        attribute = places[input][static_cast<std::size_t>(attribute)];
      else
        for (std::size_t d = 0; d < orders[input].size(); ++d) list[1 + d] = g.arg(n, 1 + orders[input][d]);
    }
    made.intern(g.kind(n), g.type(n), attribute, list.data(), g[n].count);
  }
  return made;
}

}  // namespace sheaf::jit
