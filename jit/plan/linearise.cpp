#include <sheaf/jit/plan/linearise.hpp>

#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// Row after row without gaps: an input that lies so.
bool is_dense(const facts& known, node_id tensor) {
  const graph& g = known.g();
  if (g.kind(tensor) != op::input) return false;
  const auto input = static_cast<std::size_t>(g[tensor].attribute);
  return input < known.call().inputs.size() && known.call().inputs[input].dense;
}

// The load with the number that its last two subscripts are the digits of; itself where they are not.
node_id linearised(graph& g, const facts& known, node_id load) {
  const int last = g[load].count - 1;
  if (last < 2 || !is_proven(g, load) || !is_dense(known, g.arg(load, 0))) return load;
  const node_id row = g.arg(load, last - 1), column = g.arg(load, last);
  if (g.kind(row) != op::quotient || g.kind(column) != op::remainder || g.arg(row, 0) != g.arg(column, 0) ||
      g.arg(row, 1) != g.arg(column, 1) || !known_equal(g, g.arg(row, 1), extent(g, g.arg(load, 0), last - 1)))
    return load;
  std::vector<node_id> list;
  for (int k = 0; k < last - 1; ++k) list.push_back(g.arg(load, k));
  list.push_back(integer(g, 0));
  list.push_back(g.arg(row, 0));
  const node whole = g[load];
  return g.intern(op::load, whole.type, whole.attribute, list.data(), whole.count);
}

}  // namespace

bool take_linearised(const context& c, stage& s) {
  graph& g = c.g;
  return rewrite_loads(g, s.body, [&](node_id n) { return linearised(g, c.known, n); });
}

}  // namespace sheaf::inline v0_1::plan
