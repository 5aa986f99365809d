// Rows that data names lie anywhere: a loop over the names asks for the row of a later one.
#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/lower/lowering.hpp>

namespace sheaf::lower {

namespace {

constexpr double least_trips = 4;
constexpr std::int64_t bytes_ahead = 8192;  // of rows, from a request to its use

}  // namespace

// `inner`: the body of the innermost loop of these reductions, whose results have lanes.
void kernel_lowering::prefetch_gathered(std::span<const node_id> reductions, scope& inner) {
  const node_id idx = plan::bound_indices(g, reductions.front()).back();
  const node_id last = make(g, op::add, g.arg(idx, 1), integer(g, -1));
  if (known.trips(idx) < least_trips || !g.free[last].within(inner.bound)) return;
  std::unordered_set<node_id> asked;
  const auto ask = [&](node_id n) {
    const node_id tensor = g.arg(n, 0);
    if (g.kind(tensor) != op::input || g[n].count < 3 || g.arg(n, g[n].count - 1) != inner.lane) return;
    if (known.bytes(tensor) < known.call().on.from_memory() || !buffer(buffers.at(tensor)).unit_inner || !g.free[n].within(inner.bound))
      return;
    bool named = false;
    for (int d = 1; d + 1 < g[n].count; ++d)
      named = named || (g.free[g.arg(n, d)].has(g.ordinal(idx)) && plan::holds(g, g.arg(n, d), op::load));
    if (!named || plan::holds(g, n, op::reduce)) return;
    const auto row = static_cast<std::int64_t>(known.trips(inner.lane)) * sheaf::row(g.type(n)).bytes;
    const std::int64_t ahead = std::max<std::int64_t>(1, bytes_ahead / std::max<std::int64_t>(row, 1));
    plan::replacement later(g);
    later.add(idx, make(g, op::minimum, make(g, op::add, idx, integer(g, ahead)), last));
    std::vector<ir::value> subscripts;
    const node_id next = later(n);
    if (!asked.insert(next).second) return;
    plan::trust_alike(g, n, later, plan.trusted);
    for (int d = 1; d < g[next].count; ++d) subscripts.push_back(emit(g.arg(next, d), inner, true));
    inner.block->prefetch(buffers.at(tensor), std::move(subscripts));
  };
  for (const node_id q : reductions)
    plan::for_each_node(g, g.arg(q, 0), [&](node_id n) {
      if (g.kind(n) == op::load) ask(n);
    });
}

}  // namespace sheaf::lower
