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

// The load with the number that subscripts d - 1 and d are the digits of, behind 0; itself where they are not.
node_id with_number(graph& g, node_id load, int d) {
  const node_id row = g.arg(load, d), column = g.arg(load, d + 1);
  if (g.kind(row) != op::quotient || g.kind(column) != op::remainder || g.arg(row, 0) != g.arg(column, 0) ||
      g.arg(row, 1) != g.arg(column, 1) || !known_equal(g, g.arg(row, 1), extent(g, g.arg(load, 0), d)))
    return load;
  std::vector<node_id> list = arguments(g, load, 0);
  list[static_cast<std::size_t>(d)] = integer(g, 0);
  list[static_cast<std::size_t>(d) + 1] = g.arg(row, 0);
  const node whole = g[load];
  return g.intern(op::load, whole.type, whole.attribute, list.data(), whole.count);
}

// The first digits first: what they are the number of is a digit of the next.
node_id linearised(graph& g, const facts& known, node_id load) {
  if (!is_proven(g, load) || !is_dense(known, g.arg(load, 0))) return load;
  for (int d = 1; d + 1 < g[load].count; ++d) load = with_number(g, load, d);
  return load;
}

}  // namespace

bool take_linearised(const context& c, stage& s) {
  graph& g = c.g;
  return rewrite_loads(g, s.body, [&](node_id n) { return linearised(g, c.known, n); });
}

}  // namespace sheaf::inline v0_1::plan
