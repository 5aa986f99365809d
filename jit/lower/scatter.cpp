// Scatters: a piece owns rows j of the result. It fills them with the identity, then walks the bound indices in order
// and updates the rows that are its own; no two pieces write one place, and the order is the same for any split.
#include <algorithm>
#include <memory>

#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/plan/schedule.hpp>

namespace sheaf::lower {

targets targets_of(graph& g, const stage& s) {
  flat<node_id> list;
  deltas::conjuncts(g, g.arg(s.body, 1), list);
  targets t;
  t.rest = truth(g, true);
  const node_id j = s.owned;
  const auto other = [&](node_id e) { return !g.free[e].has(g.ordinal(j)); };
  for (const node_id c : list) {
    const op kind = g.kind(c);
    const node_id a = g[c].count == 2 ? g.arg(c, 0) : no_node, b = g[c].count == 2 ? g.arg(c, 1) : no_node;
    if (s.how == plan::way::scatter && t.at == no_node && kind == op::equal &&
        ((a == j && other(b)) || (b == j && other(a))))
      t.at = a == j ? b : a;
    else if (s.how == plan::way::interval && t.low == no_node && kind == op::less_equal && b == j && other(a))
      t.low = a;
    else if (s.how == plan::way::interval && t.high == no_node && kind == op::less && a == j && other(b))
      t.high = b;
    else
      t.rest = conjunction(g, t.rest, c);
  }
  return t;
}

void kernel_lowering::scatter(const stage& s, scope& piece, const range* chunk) {
  const node_id j = s.owned;
  const range own =
      chunk != nullptr && s.parallel == j ? *chunk : range{emit(g.arg(j, 0), piece), emit(g.arg(j, 1), piece)};
  if (s.slices.array != no_node) return interval(piece, own);
  if (s.updates.array != no_node) return scatter_by_lists(s, piece, own);
  walk_all(s, piece, own);
}

// Every update is asked where it goes.
void kernel_lowering::walk_all(const stage& s, scope& piece, const range& own) {
  const targets t = targets_of(g, s);
  const node_id j = s.owned;
  const monoid fold = monoid_of(g, s.body);
  std::vector<std::unique_ptr<scope>> nest;
  scope* inner = &piece;
  const auto enter = [&](node_id idx, int lanes, const range* within) {
    nest.push_back(std::make_unique<scope>(*inner, open(*inner, idx, lanes, within)));
    inner = nest.back().get();
    bind(*inner, idx, lanes);
  };
  const auto leave = [&] {
    while (!nest.empty()) {
      nest.back()->close();
      nest.pop_back();
    }
    inner = &piece;
  };
  // Fill.
  const node_id last = s.indices.back();
  for (const node_id idx : s.indices)
    if (!piece.bound.has(g.ordinal(idx))) enter(idx, idx == last ? 64 : 1, idx == j ? &own : nullptr);
  store(s, emit(identity_of(g, fold, g.type(s.body)), *inner), *inner);
  leave();
  // Walk. What decides the rows comes first, the rest of the result's indices innermost.
  index_set deciding = g.free[t.at != no_node ? t.at : t.low];
  if (t.at == no_node) deciding |= g.free[t.high];
  for (const node_id idx : plan::bound_indices(g, s.body)) deciding |= g.free[idx];
  for (const node_id idx : s.indices)
    if (deciding.has(g.ordinal(idx)) && !inner->bound.has(g.ordinal(idx))) enter(idx, 1, nullptr);
  for (const node_id idx : plan::nesting_order(g, plan::bound_indices(g, s.body))) enter(idx, 1, nullptr);
  node_id body = g.arg(s.body, 0), rest = t.rest;
  if (t.at != no_node) {
    const ir::value at = emit(t.at, *inner);
    ir::block_builder& b = *inner->block;
    const ir::value mine =
        b.emit(op::logical_and, {b.emit(op::less_equal, {own.low, at}), b.emit(op::less, {at, own.high})});
    nest.push_back(std::make_unique<scope>(*inner, b.guard(mine)));
    inner = nest.back().get();
    inner->bound.insert(g.ordinal(j));
    inner->values[2 * std::int64_t{j}] = at;
  } else {
    const ir::value low = emit(t.low, *inner), high = emit(t.high, *inner);
    ir::block_builder& b = *inner->block;
    const range both{b.emit(op::maximum, {low, own.low}), b.emit(op::minimum, {high, own.high})};
    enter(j, j == s.vector ? s.lanes : 1, &both);
  }
  for (const node_id idx : s.indices)
    if (!inner->bound.has(g.ordinal(idx))) enter(idx, idx == s.vector ? s.lanes : 1, nullptr);
  // Update.
  const bool lanes_decide = inner->lane != no_node && g.free[rest].has(g.ordinal(inner->lane));
  ir::value mask = ir::none;
  if (lanes_decide) {
    mask = emit(rest, *inner);
  } else if (!is_true(g, rest)) {
    nest.push_back(std::make_unique<scope>(*inner, inner->block->guard(emit(rest, *inner))));
    inner = nest.back().get();
  }
  const std::int32_t id = buffers.at(s.define);
  std::vector<node_id> subscripts;
  for (const node_id idx : s.indices) subscripts.push_back(position_of(idx));
  std::vector<ir::value> list;
  const ir::access how = subscripts_of(id, subscripts, *inner, list);
  const ir::value added = emit(body, *inner);
  const ir::value old = inner->block->load(id, g.type(s.body), list, how, mask);
  store(s, inner->block->emit(row(fold).combine, {old, added}), *inner, mask);
  leave();
}

}  // namespace sheaf::lower
