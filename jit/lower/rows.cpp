// Partial results of blocks of rows, updated as the rows lie: row by row, beside maps over the same rows, or several
// rows at a time, where their centre moves.
#include <algorithm>

#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

// What a row adds to a partial result: the reduction over what is bound beside the row.
node_id kernel_lowering::row_value(const stage& s) {
  std::vector<node_id> rest = plan::bound_indices(g, s.body);
  std::erase(rest, s.rows.part);
  const node_id condition = g.arg(s.body, 1);
  node_id body = g.arg(s.body, 0);
  if (rest.empty() && plan::has_narrow_lanes(g, s.body) && g.kind(body) == op::cast) body = g.arg(body, 0);
  if (!rest.empty()) return plan::intern_reduce(g, monoid_of(g, s.body), g.type(s.body), body, condition, rest);
  return make(g, op::select, condition, body, identity_of(g, monoid_of(g, s.body), g.type(body)));
}

// A stage all of whose loops are open.
void kernel_lowering::finish(const stage& s, scope& at) {
  if (at.rows_at_once > 1) return finish_rows(s, at);
  if (s.how == plan::way::partial) return add_to_partial(s, emit(row_value(s), at), at);
  store_result(s, at);
}

void kernel_lowering::add_to_partial(const stage& s, ir::value added, scope& at) {
  const std::int32_t id = buffers.at(s.define);
  std::vector<ir::value> list;
  const ir::access how = subscripts_of(id, place_in(s), at, list);
  ir::value old = at.block->load(id, g.type(s.body), list, how);
  const node_id own = plan::result_of(g, s);
  const bool shifts = std::ranges::any_of(stages, [&](const stage* o) { return moves_with(*o, s); });
  if (shifts || moves(s)) at.values[2 * std::int64_t{plan::earlier(g, own)}] = old;
  if (moves(s)) old = emit(s.moving.moved, at);
  if (plan::has_narrow_lanes(g, s.body)) added = at.block->cast(g.type(s.body), added);
  const ir::value sum = at.block->emit(row(monoid_of(g, s.body)).combine, {old, added});
  for (const node_id n : {own, proven(g, own)})
    if (shifts) at.values[2 * std::int64_t{n}] = sum;
  store(s, sum, at);
}

bool kernel_lowering::moves(const stage& s) const {
  return s.how == plan::way::partial && s.moving.centre != no_node;
}
bool kernel_lowering::moves_with(const stage& s, const stage& centre) const {
  return moves(s) && g.arg(s.moving.centre, 0) == centre.define;
}

// The last of so many rows, of which the first is bound.
void kernel_lowering::bind_last(std::span<const entry> group, node_id idx, std::int64_t together, scope& s) {
  for (const entry& e : group)
    if (moves(*e.s) && e.s->moving.last != no_node && idx == e.s->rows.part)
      s.bind_to(g, e.s->moving.last, emit(make(g, op::add, idx, integer(g, together - 1)), s));
}

int kernel_lowering::most_lanes(std::span<const entry> group, const scope& s) const {
  if (s.rows_at_once == 1) return group.front().s->lanes;
  return std::min(group.front().s->lanes, tuning::rows::lanes_of_shifted);
}

void kernel_lowering::store_result(const stage& s, scope& at) {
  const ir::value value = emit(s.body, at);
  store(s, value, at);
  mark_stored(s);
  const node_id own = plan::result_of(g, s);
  // a later stage in this loop need not read it back
  for (const node_id n : {own, proven(g, own)}) at.values[2 * std::int64_t{n}] = value;
}

// The same for several rows: what they add to a partial result is combined first, pair by pair.
void kernel_lowering::finish_rows(const stage& s, scope& at) {
  const node_id value = row_value(s);
  std::vector<ir::value> added;
  for (std::int64_t k = 0; k < at.rows_at_once; ++k) {
    plan::replacement put(g, proofs::kept);
    put.add(s.rows.part, make(g, op::add, s.rows.part, integer(g, k)));
    added.push_back(emit(put(value), at));
  }
  for (std::size_t apart = 1; apart < added.size(); apart *= 2)
    for (std::size_t k = 0; k + apart < added.size(); k += 2 * apart)
      added[k] = at.block->emit(row(monoid_of(g, s.body)).combine, {added[k], added[k + apart]});
  add_to_partial(s, added.front(), at);
}

// Partial results of columns whose centre moves: it moves once for several rows, with the functions that takes. Others
// read one row after the other, which is one stream of memory: of several at once hardware loses sight.
bool kernel_lowering::may_join_rows(std::span<const entry> group) {
  const stage& first = *group.front().s;
  const auto centre_moves = [&](const entry& e) { return moves(*e.s); };
  if (first.rows.part == no_node || std::ranges::none_of(group, centre_moves)) return false;
  return std::ranges::all_of(group, [&](const entry& e) {
    const stage& s = *e.s;
    if (s.how != plan::way::partial) return false;
    const bool lanes_next = e.depth + 2 == s.loops.size() && s.vector == s.loops.back() && s.vector == first.vector;
    return lanes_next && s.rows.part == first.rows.part && !plan::holds(g, row_value(s), op::reduce);
  });
}

void kernel_lowering::run_rows(std::span<const entry> shared, node_id idx, scope& s) {
  ir::block_builder& b = *s.block;
  const ir::value low = emit(g.arg(idx, 0), s), high = emit(g.arg(idx, 1), s);
  constexpr std::int64_t together = numerics::rows::together;
  const ir::value size = b.i64(together);
  const ir::value iterations = b.emit(op::quotient, {b.emit(op::sub, {high, low}), size});
  {
    scope several(s, b.loop(ir::loop_kind::serial, index_text(idx) + "_rows", b.i64(0), iterations));
    ir::block_builder& inner = *several.block;
    several.bind_to(g, idx, inner.emit(op::add, {low, inner.emit(op::mul, {inner.counter(), size})}));
    several.rows_at_once = together;
    note(std::to_string(together) + " rows of " + index_text(idx) + " at once");
    bind_last(shared, idx, together, several);
    nest(shared, several);
    several.close();
  }
  const range rest{b.emit(op::add, {low, b.emit(op::mul, {iterations, size})}), high};
  scope one(s, open(s, idx, 1, &rest));
  bind(one, idx, 1);
  bind_last(shared, idx, 1, one);
  nest(shared, one);
  one.close();
}

// Partial results begin as the identity, before the rows of their block.
void kernel_lowering::fill(std::span<const entry> entries, scope& s) {
  for (const entry& e : entries) {
    if (e.s->how != plan::way::partial) continue;
    const node_id identity = identity_of(g, monoid_of(g, e.s->body), g.type(e.s->body));
    if (e.s->vector == no_node) {
      store(*e.s, emit(identity, s), s);
      continue;
    }
    scope inner(s, open(s, e.s->vector, e.s->lanes));
    bind(inner, e.s->vector, e.s->lanes);
    store(*e.s, emit(identity, inner), inner);
    inner.close();
  }
}

}  // namespace sheaf::inline v0_1::lower
