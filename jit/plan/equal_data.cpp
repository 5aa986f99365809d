#include <sheaf/jit/plan/equal_data.hpp>

#include <algorithm>

#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::register_tile;

bool has(const std::vector<node_id>& list, node_id n) { return std::ranges::find(list, n) != list.end(); }

// The outermost loads of integers in a subscript.
void add_integers(const graph& g, node_id n, node_id idx, std::vector<node_id>& list) {
  if (!uses(g, n, idx) || g.kind(n) == op::index) return;
  if (g.kind(n) == op::load) {
    if (!has(list, n)) list.push_back(n);
    return;
  }
  for (int k = 0; k < g[n].count; ++k) add_integers(g, g.arg(n, k), idx, list);
}

}  // namespace

bool depends_by_these(const graph& g, node_id n, node_id idx, const std::vector<node_id>& nodes) {
  if (!uses(g, n, idx) || has(nodes, n)) return true;
  if (g.kind(n) == op::index) return false;
  for (int k = g.kind(n) == op::load ? 1 : 0; k < g[n].count; ++k)
    if (!depends_by_these(g, g.arg(n, k), idx, nodes)) return false;
  return true;
}

std::vector<equal_rows> equal_data(graph& g, const facts& known, const std::vector<node_id>& reductions, node_id idx,
                                   const index_set& inner) {
  std::vector<equal_rows> list;
  // What names a place outside is on no list of rows: each load must be known to be inside.
  const auto add = [&](node_id load, int d) {
    if (!is_inside(g, load)) return;
    const node_id tensor = g.arg(load, 0), subscript = g.arg(load, 1 + d);
    equal_rows rows{subscript, low_of(g, tensor, d), high_of(g, tensor, d), {}};
    add_integers(g, subscript, idx, rows.data);
    const auto is_plain = [&](node_id n) {
      return !g.free[n].meets(inner) && is_integer(g.type(n)) && is_inside(g, n);
    };
    if (rows.data.empty() || !depends_by_these(g, subscript, idx, rows.data) ||
        !std::ranges::all_of(rows.data, is_plain) || std::ranges::count(list, subscript, &equal_rows::subscript) > 0)
      return;
    const auto count = known.value(make(g, op::sub, rows.high, rows.low));
    index_set row = g.free[load];
    row.erase(g.ordinal(idx));
    const bool forced = known.call().force_for_tests;
    if (forced || (count && known.trips(row) >= least_of_equal_rows &&
                   known.trips(idx) >= worth_asking_equal * *count))
      list.push_back(std::move(rows));
  };
  for (const node_id n : reductions)
    for (int k = 0; k < 2; ++k)
      for_each_node(g, g.arg(n, k), [&](node_id load) {
        for (int d = 0; g.kind(load) == op::load && uses(g, load, idx) && d + 1 < g[load].count; ++d) add(load, d);
      });
  return list;
}

}  // namespace sheaf::inline v0_1::plan
