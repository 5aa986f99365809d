// Expressions: where a node is emitted, and how loads meet lanes.
#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/lower/lowering.hpp>

namespace sheaf::lower {

namespace {
std::int64_t key(node_id n, bool lane0) { return 2 * std::int64_t{n} + lane0; }
}  // namespace

// The outermost scope that binds what n depends on; of scopes that bind the same (guards) the innermost.
scope& kernel_lowering::place_of(node_id n, scope& s) const {
  scope* best = &s;
  for (scope* p = &s; p != nullptr && g.free[n].within(p->bound); p = p->parent)
    if (!(p->bound == best->bound)) best = p;
  return *best;
}

std::optional<ir::value> kernel_lowering::find(node_id n, const scope& s, bool lane0) const {
  for (const scope* p = &s; p != nullptr; p = p->parent)
    if (const auto hit = p->values.find(key(n, lane0)); hit != p->values.end()) return hit->second;
  return std::nullopt;
}

ir::value kernel_lowering::emit(node_id n, scope& s, bool lane0) {
  lane0 = lane0 && s.lane != no_node && g.free[n].has(g.ordinal(s.lane));
  if (const auto known_value = find(n, s, lane0)) return *known_value;
  scope& at = place_of(n, s);
  ir::block_builder& b = *at.block;
  ir::value result = ir::none;
  switch (g.kind(n)) {
    case op::constant: result = b.constant(g.type(n), g[n].attribute); break;
    case op::index: result = emit_index(n, at, lane0); break;
    case op::extent: result = b.extent(buffers.at(g.arg(n, 0)), static_cast<std::int32_t>(g[n].attribute)); break;
    case op::load: result = emit_load(n, at); break;
    case op::reduce: result = reduction(n, at); break;
    case op::stop_gradient: result = emit(g.arg(n, 0), at, lane0); break;
    case op::cast: {
      const ir::value from = emit(g.arg(n, 0), at, lane0);
      result = b.cast(g.type(n), from);
      break;
    }
    default: {
      if (const auto stored = from_strip(n, at)) {
        result = *stored;
        break;
      }
      std::vector<ir::value> list;
      for (int k = 0; k < g[n].count; ++k) list.push_back(emit(g.arg(n, k), at, lane0));
      result = b.emit(g.kind(n), std::move(list));
      into_strip(n, result, at);
    }
  }
  at.values[key(n, lane0)] = result;
  return result;
}

// The lanes of a vector loop are made when first asked for; every other index is known since its loop was opened.
ir::value kernel_lowering::emit_index(node_id n, scope& at, bool lane0) {
  scope* loop = &at;
  while (loop->parent != nullptr && loop->parent->bound.has(g.ordinal(n))) loop = loop->parent;  // out of guards
  const ir::value result = lane0 || loop->lane != n ? loop->block->counter() : loop->block->lanes();
  loop->values[key(n, lane0)] = result;
  return result;
}

ir::access kernel_lowering::subscripts_of(std::int32_t buffer_id, const std::vector<node_id>& subscripts, scope& s,
                                          std::vector<ir::value>& list) {
  const int lane = s.lane == no_node ? -1 : g.ordinal(s.lane);
  const auto in_lanes = [&](node_id e) { return lane >= 0 && g.free[e].has(lane); };
  bool row = !subscripts.empty() && in_lanes(subscripts.back());
  for (std::size_t d = 0; d + 1 < subscripts.size(); ++d) row = row && !in_lanes(subscripts[d]);
  if (row) {
    const line l = split_affine(g, subscripts.back(), s.lane);
    row = l.affine && l.slope == 1;
  }
  ir::access how = ir::access::uniform;
  for (const node_id e : subscripts) {
    if (in_lanes(e)) how = ir::access::gather;
    list.push_back(emit(e, s, row));
  }
  if (row) how = buffer(buffer_id).unit_inner ? ir::access::contiguous : ir::access::strided;
  return how;
}

ir::value kernel_lowering::emit_load(node_id n, scope& at) {
  const node_id tensor = g.arg(n, 0);
  const std::int32_t id = buffers.at(tensor);
  const bool trusted = plan.trusted.contains(n);
  node_id inside = truth(g, true);
  std::vector<node_id> subscripts;
  for (int d = 0; d + 1 < g[n].count; ++d) {
    const node_id e = g.arg(n, 1 + d);
    const bool made = g.kind(tensor) == op::define;
    const node_id low = made ? g.arg(g.arg(tensor, 1 + d), 0) : integer(g, 0);
    const node_id high = made ? g.arg(g.arg(tensor, 1 + d), 1) : extent(g, tensor, d);
    if (!trusted) inside = conjunction(g, inside, range_condition(g, e, low, high));
    subscripts.push_back(make(g, op::sub, e, low));
  }
  const ir::value mask = is_true(g, inside) ? ir::none : emit(inside, at);
  std::vector<ir::value> list;
  const ir::access how = subscripts_of(id, subscripts, at, list);
  return at.block->load(id, g.type(n), std::move(list), how, mask);
}

}  // namespace sheaf::lower
