// What the updates of a list read lies where data says, in no order that hardware sees: it is prefetched by the list.
// First what an update reads by its indices, then, fewer updates ahead, what that names.
#include <sheaf/jit/lower/inverse_index.hpp>
#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

using namespace tuning::inverse_index;

// Loads of tensors beyond L2, whose place follows from the indices of an update and the lane.
reads_of_updates::reads_of_updates(kernel_lowering& k, const plan::inverse_index_form& l, node_id lane,
                                   std::initializer_list<node_id> roots) : k_(k) {
  if (k.known.call().gpu) return;  // there other groups run while one waits
  graph& g = k.g;
  const index_set named = plan::set_of(g, l.named);
  index_set bound = named;
  if (lane != no_node) bound.insert(g.ordinal(lane));
  const auto place = [&](node_id n) {
    bool by_update = false;
    for (int d = 1; d < g[n].count; ++d) {
      by_update = by_update || g.free[g.arg(n, d)].meets(named);
      const bool in_lanes = lane != no_node && g.free[g.arg(n, d)].has(g.ordinal(lane));
      if (!g.free[g.arg(n, d)].within(bound) || (in_lanes && (d + 1 < g[n].count || g.arg(n, d) != lane))) return false;
    }
    return by_update;
  };
  for (const node_id root : roots)
    plan::for_each_node(g, root, [&](node_id n) {
      if (g.kind(n) != op::load || g.kind(g.arg(n, 0)) != op::input || !place(n)) return;
      if (k.known.bytes(g.arg(n, 0)) < k.known.call().on.from_last_cache() || !is_new(n)) return;
      const std::vector<node_id> names = plan::index_operands(g, n);
      if (names.empty())
        direct_.push_back(n);
      else if (std::ranges::all_of(names, [&](node_id name) { return plan::is_safe(g, name); }))
        named_.push_back(n);
    });
}

bool reads_of_updates::is_new(node_id n) const {
  return std::ranges::find(direct_, n) == direct_.end() && std::ranges::find(named_, n) == named_.end();
}

// In the iteration of the update at `position` of the list, which ends at `end`.
void reads_of_updates::prefetch(const inverse_index_lowering& a, scope& iteration, ir::value position, ir::value end,
                                bool sorted) const {
  const auto ahead = [&](const std::vector<node_id>& loads, std::int64_t updates) {
    if (loads.empty()) return;
    ir::block_builder& b = *iteration.block;
    const ir::value last = b.emit(op::sub, {end, b.i64(1)});
    const ir::value later = b.emit(op::minimum, {b.emit(op::add, {position, b.i64(updates)}), last});
    scope soon(iteration, iteration.block);
    a.bind(soon, sorted ? a.sorted(b, later) : later);
    for (const node_id n : loads) {
      const std::int32_t id = k_.buffers.at(k_.g.arg(n, 0));
      std::vector<ir::value> places;
      const ir::access how = k_.subscripts_of(id, plan::arguments(k_.g, n, 1), soon, places);
      if (how == ir::access::uniform || how == ir::access::contiguous) b.prefetch(id, std::move(places), how);
    }
  };
  ahead(direct_, named_.empty() ? updates_ahead : 2 * updates_ahead);
  ahead(named_, updates_ahead);
}

// Data in lanes at the row that is updated lies anywhere, too.
void reads_of_updates::prefetch_row(const inverse_index_lowering& a, const plan::stage& s, scope& row,
                                    ir::value position, ir::value end) const {
  if (s.vector == no_node || k_.known.call().gpu) return;
  graph& g = k_.g;
  std::vector<node_id> rows;
  plan::for_each_node(g, s.body, [&](node_id n) {
    if (g.kind(n) != op::load || g.kind(g.arg(n, 0)) != op::input || g.arg(n, g[n].count - 1) != s.vector) return;
    bool named = false;
    for (int d = 1; d + 1 < g[n].count; ++d) named = named || g.arg(n, d) == s.inverse.at;
    if (named && k_.known.bytes(g.arg(n, 0)) >= beyond_cache && k_.buffer(k_.buffers.at(g.arg(n, 0))).unit_inner)
      rows.push_back(n);
  });
  if (rows.empty()) return;
  const ir::value later = row.block->emit(op::add, {position, row.block->i64(updates_ahead)});
  scope soon(row, row.block->guard(row.block->emit(op::less, {later, end})));
  a.bind(soon, a.sorted(*soon.block, later));
  k_.emit(a.l.at, soon);
  scope lanes(soon, k_.open(soon, s.vector, s.lanes));
  k_.bind(lanes, s.vector, s.lanes);
  for (const node_id n : rows) {
    std::vector<ir::value> list;
    for (int d = 1; d < g[n].count; ++d) list.push_back(k_.emit(g.arg(n, d), lanes, true));
    lanes.block->prefetch_l2(k_.buffers.at(g.arg(n, 0)), std::move(list));
  }
  lanes.close();
  soon.close();
}

}  // namespace sheaf::inline v0_1::lower
