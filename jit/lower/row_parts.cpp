// Parts of the rows of a scatter, see plan::row_parts_form, in two kernels before that of the rows. A task of the first
// folds the part that would stand at its place, if there is one; one of the second joins those of a row, where the
// first of them stands. Which row that is, a search tells: it has the last update that the part could begin at.
#include <sheaf/jit/lower/inverse_index.hpp>
#include <sheaf/jit/lower/search.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>

namespace sheaf::inline v0_1::lower {

ir::access kernel_lowering::place_of_part(const stage& s, node_id array, scope& at, std::vector<ir::value>& list) {
  std::vector<node_id> subscripts{s.inverse.parts.part};
  for (const node_id idx : s.indices)
    if (idx != s.owned) subscripts.push_back(position_of(idx));
  return subscripts_of(buffers.at(array), subscripts, at, list);
}

namespace {

// The part at a place: its row, all updates of that, its own, and whether the row has them.
struct part_at {
  ir::value row;
  range updates, own;
  ir::value whole;
};
part_at find_part(const inverse_index_lowering& a, scope& s, ir::value place, ir::value last, std::int64_t size) {
  ir::block_builder& b = *s.block;
  const ir::value row = first_that_ends_after(s, last, a.chunks, [&](scope& step, ir::value r) {
    ir::block_builder& c = *step.block;
    return a.at(c, c.emit(op::minimum, {a.next(c, r), a.chunks}));
  });
  const range updates{a.at(b, row), a.at(b, a.next(b, row))};
  const ir::value first = b.emit(op::quotient, {updates.low, b.i64(size)});
  const ir::value low = sum(b, updates.low, b.emit(op::mul, {b.emit(op::sub, {place, first}), b.i64(size)}));
  const range own{low, sum(b, low, b.i64(size))};
  const ir::value begun = b.emit(op::less_equal, {updates.low, own.low});
  const ir::value ends = b.emit(op::less_equal, {own.high, updates.high});
  return {row, updates, own, b.emit(op::logical_and, {begun, ends})};
}

// Places of the parts of a row.
range places_of(ir::block_builder& b, const range& updates, std::int64_t size) {
  const ir::value count = b.emit(op::quotient, {b.emit(op::sub, {updates.high, updates.low}), b.i64(size)});
  const ir::value first = b.emit(op::quotient, {updates.low, b.i64(size)});
  return {first, sum(b, first, count)};
}

// Places of the parts that a group of them has.
range parts_in(ir::block_builder& b, const part_at& group, const plan::row_parts_form& f) {
  const ir::value size = b.i64(f.size), before = b.emit(op::sub, {group.own.low, group.updates.low});
  const ir::value first = sum(b, b.emit(op::quotient, {group.updates.low, size}), b.emit(op::quotient, {before, size}));
  return {first, sum(b, first, b.i64(f.at_once))};
}

}  // namespace

void kernel_lowering::parts_of_rows(const stage& s, int kernel, scope& top) {
  const plan::row_parts_form& f = s.inverse.parts;
  const inverse_index_lowering a = inverse_index_of(*this, s.inverse, buffers.at(s.inverse.array), top);
  const bool joins = kernel + 1 == f.kernels(), groups = kernel > 0 && !joins;
  const std::int64_t size = groups ? f.size * f.at_once : f.size;
  ir::value count = emit(g.arg(f.part, 1), top);
  if (groups) count = top.block->emit(op::quotient, {count, top.block->i64(f.at_once)});
  if (s.when != no_node) count = top.block->emit(op::select, {emit(s.when, top), count, top.block->i64(0)});
  scope task(top, top.block->loop(ir::loop_kind::parallel, "place", top.block->i64(0), count));
  ir::block_builder& b = *task.block;
  const ir::value place = b.counter(), all = a.at(b, a.count(b));
  const ir::value last = b.emit(op::sub, {b.emit(op::mul, {a.next(b, place), b.i64(size)}), b.i64(1)});
  const ir::value listed = b.emit(op::less_equal, {all, a.room}), some = b.emit(op::less, {last, all});
  scope inside(task, b.guard(b.emit(op::logical_and, {listed, some})));
  const part_at found = find_part(a, inside, place, last, size);
  ir::block_builder& c = *inside.block;
  const ir::value first = c.emit(op::equal, {found.own.low, found.updates.low});
  scope mine(inside, c.guard(!joins ? found.whole : c.emit(op::logical_and, {found.whole, first})));
  mine.bind_to(g, s.owned, sum(*mine.block, a.start, found.row));
  open_loops loops(*this, mine);
  for (const node_id idx : s.indices)
    if (idx != s.owned) loops.enter(idx, idx == s.vector ? s.lanes : 1);
  scope& at = *loops.inner;
  const ir::value folded = kernel == 0 ? fold_part(s, at, found.own)
                           : groups    ? join_parts(s, at, {{f.array, parts_in(*at.block, found, f)}})
                                       : join_row(s, at, found.updates);
  loops.bind(f.part, place);
  std::vector<ir::value> list;
  const node_id array = groups ? f.groups : f.array;
  const ir::access how = place_of_part(s, array, *loops.inner, list);
  loops.inner->block->store(buffers.at(array), std::move(list), folded, how);
  loops.close();
  mine.close();
  inside.close();
  task.close();
}

ir::value kernel_lowering::fold_part(const stage& s, scope& at, const range& own) {
  const plan::row_parts_form& f = s.inverse.parts;
  const monoid fold = monoid_of(g, s.body);
  const element type = g.type(s.body);
  if (f.lanes == 1) {
    const inverse_index_lowering a = inverse_index_of(*this, s.inverse, buffers.at(s.inverse.array), at);
    const plan::term_of_row term = plan::in_row(g, s);
    const auto nothing = [](scope&, ir::value) {};
    return fold_updates(a, at, own, type, fold, ir::none, nothing, [&](scope& iteration, ir::value cell) {
      combine_term(cell, s.body, {term.value, term.rest}, iteration);
    });
  }
  const ir::value cell = at.block->accumulator(type, fold, true);
  scope lanes(at, open(at, f.update, f.lanes, &own));
  bind(lanes, f.update, f.lanes);
  combine_term(cell, s.body, {f.value, f.rest}, lanes);
  lanes.close();
  return at.block->fold_lanes(cell);
}

ir::value kernel_lowering::join_parts(const stage& s, scope& at, std::initializer_list<places_of_parts> list) {
  const plan::row_parts_form& f = s.inverse.parts;
  const monoid fold = monoid_of(g, s.body);
  const element type = g.type(s.body), joined = numerics::joined(fold, type);
  ir::block_builder& b = *at.block;
  const ir::value all = b.accumulator(joined, fold, at.lane != no_node || f.lanes > 1);
  for (const places_of_parts& each : list) {
    scope part(at, open(at, f.part, f.lanes, &each.places));
    bind(part, f.part, f.lanes);
    std::vector<ir::value> subscripts;
    const ir::access how = place_of_part(s, each.array, part, subscripts);
    const ir::value x = part.block->load(buffers.at(each.array), type, std::move(subscripts), how);
    part.block->combine(all, type == joined ? x : part.block->cast(joined, x));
    part.close();
  }
  const ir::value found = f.lanes > 1 ? b.fold_lanes(all) : b.read(all);
  return type == joined ? found : b.cast(type, found);
}

// All parts of a row: first whole groups of them, then what is left.
ir::value kernel_lowering::join_row(const stage& s, scope& at, const range& updates) {
  const plan::row_parts_form& f = s.inverse.parts;
  ir::block_builder& b = *at.block;
  range parts = places_of(b, updates, f.size);
  if (f.groups == no_node) return join_parts(s, at, {{f.array, parts}});
  const range groups = places_of(b, updates, f.size * f.at_once);
  const ir::value joined = b.emit(op::mul, {b.emit(op::sub, {groups.high, groups.low}), b.i64(f.at_once)});
  parts.low = sum(b, parts.low, joined);
  return join_parts(s, at, {{f.groups, groups}, {f.array, parts}});
}

// The rest of the updates, after the parts.
ir::value kernel_lowering::take_parts(const stage& s, scope& at, range& updates) {
  const plan::row_parts_form& f = s.inverse.parts;
  const element type = g.type(s.body);
  ir::block_builder& b = *at.block;
  const range places = places_of(b, updates, f.size);
  const ir::value all = b.accumulator(type, monoid_of(g, s.body), at.lane != no_node);
  scope some(at, b.guard(b.emit(op::less, {places.low, places.high})));
  some.bind_to(g, f.part, places.low);
  std::vector<ir::value> list;
  const ir::access how = place_of_part(s, f.array, some, list);
  some.block->combine(all, some.block->load(buffers.at(f.array), type, std::move(list), how));
  some.close();
  const ir::value taken = b.emit(op::mul, {b.emit(op::sub, {places.high, places.low}), b.i64(f.size)});
  updates.low = sum(b, updates.low, taken);
  return b.read(all);
}

}  // namespace sheaf::inline v0_1::lower
