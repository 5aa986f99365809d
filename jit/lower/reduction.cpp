// Reductions: accumulators before the loops, one combine inside for each reduction that shares them, folds after.
#include <algorithm>
#include <memory>

#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/stencil/small_windows.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>

namespace sheaf::inline v0_1::lower {

using numerics::accumulated;

void kernel_lowering::mark_stored(const stage& s) {
  pending.erase(s.define);
  stored.push_back(s.define);
}

// Is all of a tensor stored where code at this scope runs, which may be around loops that are being made?
bool kernel_lowering::is_whole(node_id define, const scope& at) const {
  if (pending.contains(define)) return false;
  for (const shared_loop& loop : shared_loops) {
    const scope* around = loop.outside;
    while (around != nullptr && around != &at) around = around->parent;
    if (around != nullptr)
      return std::find(stored.begin() + static_cast<std::ptrdiff_t>(loop.stored), stored.end(), define) == stored.end();
  }
  return true;
}

// Are the reductions inside n that run outside its loops known already, and is all it reads stored where it is read?
bool kernel_lowering::computed_outside(node_id n, scope& at) {
  bool ready = true;
  plan::for_each_node(g, n, [&](node_id q) {
    if (g.kind(q) == op::load && !is_whole(g.arg(q, 0), place_of(q, at))) ready = false;
    if (q != n && g.kind(q) == op::reduce && g.free[q].within(at.bound) && !find(q, at, false)) ready = false;
  });
  return ready;
}

// Reductions of this kernel over the same indices at the same place, which neither wait for n nor n for them, and run
// in the lanes that n runs in.
std::vector<node_id> kernel_lowering::companions(node_id n, node_id lane, scope& at) {
  std::vector<node_id> list{n};
  const auto bound = plan::bound_indices(g, n);
  const node_id lanes = lane != no_node ? lane : at.lane;  // one of another stage may have a range that depends on them
  const auto consider = [&](node_id q) {
    if (g.kind(q) != op::reduce || std::ranges::find(list, q) != list.end()) return;
    if (plan::bound_indices(g, q) != bound || !g.free[q].within(at.bound) || find(q, at, false)) return;
    if (lanes != no_node && !plan::may_vectorise(g, q, lanes)) return;
    if (lane != no_node && plan::is_folded_in_order(g, q)) return;
    if (&place_of(q, at) == &at && computed_outside(q, at)) list.push_back(q);
  };
  for (const stage* s : stages) plan::for_each_node(g, s->body, consider);
  return list;
}

element kernel_lowering::type_of_cell(node_id q) const {
  return row(monoid_of(g, q)).position ? g.type(g.arg(q, 0)) : g.type(q);
}

// An accumulator of a reduction at its place.
ir::value kernel_lowering::cell_of(node_id q, scope& at, bool wide) {
  const monoid fold = monoid_of(g, q);
  if (folds_tuple(g, q))
    return at.block->accumulator(own_row_of(g, sibling(g, fold, 0)).type, sibling(g, fold, 0), wide);
  return at.block->accumulator(plan::in_lanes(g, q, type_of_cell(q)), fold, wide);
}

// One iteration: the term goes into the accumulator where the condition holds.
void kernel_lowering::combine_term(ir::value cell, node_id q, term of, scope& inner) {
  auto& [body, condition, position] = of;
  if (plan::is_chain_of_terms(g, q)) return combine_chain(cell, q, inner);
  const bool several = g.kind(body) == op::tuple;
  if (plan::has_narrow_lanes(g, q)) body = g.kind(body) == op::cast ? g.arg(body, 0) : cast_to(g, element::f32, body);
  if (!several && accumulated(g.type(g.arg(q, 0))) != g.type(g.arg(q, 0))) body = cast_to(g, element::f32, body);
  const auto combine_in = [&](scope& s, ir::value mask) {
    if (several) return s.block->combine_state(cell, emit_values(body, s), mask);
    const ir::value x = emit(body, s);
    const ir::value where = position == no_node ? ir::none : emit(position, s);
    s.block->combine(cell, x, mask, where);
  };
  const bool lanes_decide = inner.lane != no_node && g.free[condition].has(g.ordinal(inner.lane));
  if (is_true(g, condition)) return combine_in(inner, ir::none);
  if (lanes_decide) return combine_in(inner, emit(condition, inner));
  const ir::value test = emit(condition, inner);
  scope guarded(inner, inner.block->guard(test));
  combine_in(guarded, ir::none);
  guarded.close();
}

// A masked lane keeps its sum, whatever it is multiplied by there.
void kernel_lowering::combine_chain(ir::value cell, node_id q, scope& inner) {
  for (node_id term : plan::chain_of(g, q)) {
    ir::value mask = ir::none;
    if (g.kind(term) == op::select && g.arg(term, 2) == identity_of(g, monoid_of(g, q), g.type(q))) {
      const node_id condition = not_assumed(g.arg(term, 0));
      if (!is_true(g, condition)) mask = emit(condition, inner);
      term = g.arg(term, 1);
    }
    inner.block->combine(cell, emit(term, inner), mask);
  }
}

std::vector<ir::value> kernel_lowering::emit_values(node_id tuple, scope& s) {
  std::vector<ir::value> list;
  for (int k = 0; k < g[tuple].count; ++k) list.push_back(emit(g.arg(tuple, k), s));
  return list;
}

// folds: the accumulator has lanes of which the result is one value.
ir::value kernel_lowering::take_result(node_id q, ir::value cell, scope& at, bool folds) {
  if (folds_tuple(g, q)) {
    const ir::value part = at.block->read_part(cell, g.type(q), own_row_of(g, monoid_of(g, q)).component, folds);
    return at.values[2 * std::int64_t{q}] = part;
  }
  const bool widens = plan::has_narrow_lanes(g, q);
  ir::value result = folds ? at.block->fold_lanes(cell, widens) : at.block->read(cell);
  if (widens && !folds) result = at.block->cast(element::f64, result);
  if (!row(monoid_of(g, q)).position && accumulated(g.type(q)) != g.type(q)) result = at.block->cast(g.type(q), result);
  return at.values[2 * std::int64_t{q}] = result;
}

ir::value kernel_lowering::reduction(node_id n, scope& at) {
  for (const node_id idx : plan::bound_indices(g, n))
    if (at.bound.has(g.ordinal(idx))) {
      const auto [entry, fresh] = plan.renamed.try_emplace(n, no_node);
      if (fresh) entry->second = plan::renamed(g, n, idx);
      return emit(plan.renamed.at(n), at);
    }
  plan::for_each_node(g, n, [&](node_id q) {
    if (q != n && g.kind(q) == op::reduce && g.free[q].within(at.bound)) emit(q, at);
  });
  const node_id lane = at.lane == no_node ? plan::lane_of(g, known, n) : no_node;
  const std::vector<node_id> all = companions(n, lane, at);
  if (all.size() == 1 && searches_blocks(n, lane, at)) return search_blocks(n, lane, at);
  if (!have_one_guard(all, at)) {
    fold(all, lane, at, false);
    return at.values[2 * std::int64_t{n}];
  }
  const ir::value condition = emit(g.arg(n, 1), at);
  std::vector<ir::value> results;
  for (const node_id q : all) {
    const bool wide = at.lane != no_node && g.free[q].has(g.ordinal(at.lane));
    results.push_back(at.block->accumulator(g.type(q), monoid_of(g, q), wide));
  }
  scope inside(at, at.block->guard(condition));
  const std::vector<ir::value> folded = fold(all, lane, inside, true);
  for (std::size_t i = 0; i < all.size(); ++i) inside.block->combine(results[i], folded[i]);
  inside.close();
  for (std::size_t i = 0; i < all.size(); ++i)
    at.values[2 * std::int64_t{all[i]}] = at.block->read(results[i]);
  return at.values[2 * std::int64_t{n}];
}

// Does one condition, which no index of theirs changes, decide whether they fold anything? Then it is asked once, and
// where it does not hold there are neither loops nor lanes to fold.
bool kernel_lowering::have_one_guard(std::span<const node_id> all, scope& at) const {
  const node_id condition = g.arg(all.front(), 1);
  if (known.call().gpu || is_true(g, condition) ||
      g.free[condition].meets(plan::set_of(g, plan::bound_indices(g, all.front()))))
    return false;
  if (at.lane != no_node && g.free[condition].has(g.ordinal(at.lane))) return false;
  return std::ranges::all_of(all, [&](node_id q) {
    return g.arg(q, 1) == condition && !folds_tuple(g, q) && !row(monoid_of(g, q)).position &&
           accumulated(g.type(q)) == g.type(q);
  });
}

// The loops of reductions over the same indices, and their results. `guarded`: their condition holds.
std::vector<ir::value> kernel_lowering::fold(std::span<const node_id> all, node_id lane, scope& at, bool guarded) {
  const node_id n = all.front();
  const bool vector = at.lane != no_node || lane != no_node;
  std::vector<ir::value> cells;
  // Values of one state have one accumulator, which its first combines into.
  std::vector<std::size_t> owner;
  for (std::size_t i = 0; i < all.size(); ++i) {
    owner.push_back(i);
    for (std::size_t j = 0; j < i && owner[i] == i; ++j)
      if (plan::same_state(g, all[j], all[i])) owner[i] = j;
    const node_id q = all[i];
    const bool wide = at.lane == no_node ? vector : g.free[q].has(g.ordinal(at.lane));
    cells.push_back(owner[i] == i ? cell_of(q, at, wide) : cells[owner[i]]);
  }
  open_loops loops(*this, at);
  scope*& inner = loops.inner;
  const auto compacted = guarded ? std::nullopt : compacted_list_of(all, at);
  if (compacted) {
    const node_id idx = plan::bound_indices(g, n).front();
    ir::block_builder& b = *at.block;
    loops.enter(b.loop(ir::loop_kind::serial, index_text(idx) + "_compacted", b.i64(0), compacted->count));
    inner->bind_to(g, idx, inner->block->load(compacted->buffer, element::i64, {inner->block->counter()}));
    inner->block->head().trips = known.trips(idx);
  }
  for (const node_id idx : plan::loops_of(g, n, lane)) {
    if (compacted) break;
    loops.enter(idx, idx == lane ? plan::lanes_for(g, known, n, lane, false) : 1, nullptr, idx == lane);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (owner[i] != i) continue;
    const node_id q = all[i];
    const node_id position = row(monoid_of(g, q)).position ? plan::bound_indices(g, q).front() : no_node;
    combine_term(cells[i], q, {g.arg(q, 0), compacted || guarded ? truth(g, true) : g.arg(q, 1), position}, *inner);
  }
  loops.close();
  std::vector<ir::value> results;
  for (std::size_t i = 0; i < all.size(); ++i)
    results.push_back(take_result(all[i], cells[i], at, at.lane == no_node && vector));
  return results;
}

}  // namespace sheaf::inline v0_1::lower
