// Scans: one pass along an index with a running accumulator. Lanes along another index have an accumulator each; lanes
// along the scan itself are folded by log-steps. Blocks begin anew, or with what comes before them, so tasks share
// them.
#include <memory>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/scan/scan_results.hpp>
#include <sheaf/jit/plan/cost.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

using numerics::accumulated, numerics::scan_lanes;

// One step of a recurrence. An infinite factor keeps nothing of nothing; one that may vanish, then nothing of what is
// infinite.
ir::value next_of(ir::block_builder& b, ir::value old, ir::value factor, ir::value value, bool may_vanish) {
  const element type = b.type_of(old);
  const ir::value zero = b.real(type, 0);
  if (b.type_of(factor) == element::boolean) return b.emit(op::add, {b.emit(op::select, {factor, old, zero}), value});
  const ir::value wide = b.type_of(factor) == type ? factor : b.cast(type, factor),
                  scaled = b.emit(op::mul, {wide, old});
  ir::value nothing = b.emit(op::equal, {old, zero});
  if (may_vanish) nothing = b.emit(op::logical_or, {nothing, b.emit(op::equal, {wide, zero})});
  return b.emit(op::add, {b.emit(op::select, {nothing, zero, scaled}), value});
}

// What is stored of a result, where that is a function of it.
ir::value function_of(kernel_lowering& k, const plan::scan_form& f, ir::value result, scope& s) {
  const element type = accumulated(k.g.type(f.folded));
  s.set(f.folded, s.block->type_of(result) == type ? result : s.block->cast(type, result));
  return k.emit(f.result, s);
}

}  // namespace

// Of the value of a state that a fold yields.
element kernel_lowering::type_of_part(monoid fold) const { return own_row_of(g, fold).type; }

// The accumulator of a running fold, with what comes before its first place.
ir::value kernel_lowering::running_cell(const stage& s, scope& at) {
  const plan::scan_form& f = s.scan();
  const bool several = g.kind(f.value) == op::tuple;
  ir::block_builder& b = *at.block;
  const monoid fold = several ? sibling(g, f.fold, 0) : f.fold;
  const element type =
      several ? own_row_of(g, fold).type : accumulated(numerics::carried(f.fold, plan::folded_type(g, s)));
  const ir::value cell = b.accumulator(type, fold, s.vector != no_node);
  if (f.carry != no_node)
    several ? b.combine_state(cell, emit_values(f.carry, at)) : b.combine(cell, emit(cast_to(g, type, f.carry), at));
  return cell;
}

// Lanes along the walk; 1: there are none, as of a value that is the same at every place.
int kernel_lowering::lanes_along(const stage& s) const {
  const plan::scan_form& f = s.scan();
  const bool several = g.kind(f.value) == op::tuple;
  const bool along = s.vector == no_node && ((!several && !in_order(g, f.fold)) || known.for_groups()) &&
                     g.free[f.value].has(g.ordinal(f.walk));
  if (!along) return 1;
  int lanes = scan_lanes(accumulated(g.type(f.value)));
  const element type = several ? own_row_of(g, sibling(g, f.fold, 0)).type
                               : accumulated(numerics::carried(f.fold, plan::folded_type(g, s)));
  const shapes::amount places = f.block > 0 ? shapes::amount(static_cast<double>(f.block)) : known.trips(f.walk);
  const int width = several ? g[f.value].count : 1;
  while (known.for_groups() && lanes < numerics::group_lanes_of_state(width * row(type).bytes) && lanes < places)
    lanes *= 2;
  return lanes;
}

// What a place of the walk comes to, into the cell, and what the fold is then.
ir::value kernel_lowering::running_result(const stage& s, ir::value cell, bool along, scope& inner) {
  const plan::scan_form& f = s.scan();
  ir::block_builder& b = *inner.block;
  if (g.kind(f.value) == op::tuple) {
    const int component = own_row_of(g, f.fold).component;
    if (along) return b.scan_state(cell, emit_values(f.value, inner), type_of_part(f.fold), component);
    b.combine_state(cell, emit_values(f.value, inner), ir::none, f.backward);
    return b.read_part(cell, type_of_part(f.fold), component, false);
  }
  const ir::value x = emit(cast_to(g, accumulated(g.type(f.value)), f.value), inner);
  if (along) return b.scan_lanes(cell, x);
  const element type = accumulated(numerics::carried(f.fold, plan::folded_type(g, s)));
  b.combine_state(cell, {b.type_of(x) == type ? x : b.cast(type, x)}, ir::none, f.backward && in_order(g, f.fold));
  return b.read(cell);
}

// The result at t stands where its last value was taken: walk == t + shift - 1 forward, t + shift backward. Several
// stages share the walk.
void kernel_lowering::scan_block(const stage& s, scope& at, const range& t) {
  const plan::scan_form& f = s.scan();
  const std::int64_t ahead = f.backward ? f.shift : f.shift - 1;
  ir::block_builder& b = *at.block;
  std::vector<ir::value> cells;
  int lanes = lanes_along(s);
  for (const stage* each : stages) {
    cells.push_back(running_cell(*each, at));
    lanes = std::min(lanes, lanes_along(*each));
  }
  range walk = t;
  if (f.block == 0) {
    walk = {emit(g.arg(f.walk, 0), at), emit(g.arg(f.walk, 1), at)};
  } else if (f.open) {
    walk.low = b.emit(op::add, {t.low, b.i64(1)});
  } else if (ahead != 0) {
    walk.high = b.emit(op::minimum, {t.high, emit(g.arg(f.walk, 1), at)});
  }
  scope inner(at, open(at, f.walk, lanes, &walk));
  inner.block->head().backward = f.backward;
  bind(inner, f.walk, lanes);
  const node_id place = make(g, op::add, f.walk, integer(g, -ahead));
  const node_id inside =
      f.block == 0 || ahead != 0 ? range_condition(g, place, g.arg(s.owned, 0), g.arg(s.owned, 1)) : truth(g, true);
  for (std::size_t n = 0; n < cells.size(); ++n) {
    const stage& each = *stages[n];
    ir::value result = running_result(each, cells[n], lanes > 1, inner);
    if (each.scan().ends) {
      inner.close();
      const bool several = g.kind(f.value) == op::tuple;
      const int component = several ? own_row_of(g, f.fold).component : 0;
      return store(s, several ? b.read_part(cells[n], type_of_part(f.fold), component, false) : b.read(cells[n]), at);
    }
    if (each.scan().result != no_node) result = function_of(*this, each.scan(), result, inner);
    if (inner.block->type_of(result) != g.type(each.define)) result = inner.block->cast(g.type(each.define), result);
    store_at(each, place, result, inner, is_true(g, inside) ? ir::none : emit(inside, inner));
  }
  inner.close();
}

// The result before is read back from where it was stored; before the first there is 0.
void kernel_lowering::recur(const stage& s, scope& at) {
  const plan::scan_form& f = s.scan();
  scope inner(at, open(at, f.walk, 1));
  inner.block->head().backward = f.backward;
  bind(inner, f.walk, 1);
  const node_id last = make(g, op::add, f.walk, integer(g, f.backward ? 1 : -1));
  std::vector<node_id> subscripts;
  for (const node_id idx : s.indices)
    subscripts.push_back(idx == f.walk ? make(g, op::sub, last, g.arg(idx, 0)) : position_of(idx));
  const ir::value begun = emit(
      f.backward ? make(g, op::less, last, g.arg(f.walk, 1)) : make(g, op::less_equal, g.arg(f.walk, 0), last), inner);
  const ir::value value = emit(f.value, inner), factor = emit(f.factor, inner);
  const element type = g.type(s.define);
  std::vector<ir::value> list;
  ir::block_builder& b = *inner.block;
  const std::int32_t id = buffers.at(s.define);
  const ir::access how = subscripts_of(id, subscripts, inner, list);
  const ir::value old = b.load(id, type, std::move(list), how, begun);
  ir::value next = ir::none;
  if (f.fold == monoid::sum) {
    next = next_of(b, old, factor, value, f.may_vanish);
  } else {  // a fold that goes on or begins anew
    const ir::value begins = b.emit(op::select, {factor, old, emit(identity_of(g, f.fold, type), inner)});
    next = b.emit(row(f.fold).combine, {begins, value});
  }
  store_at(s, f.walk, next, inner, ir::none);
  inner.close();
}

// The same in lanes along the walk, over `places`, from the carry or 0.
void kernel_lowering::recur_along(const stage& s, scope& at, const range& places) {
  const plan::scan_form& f = s.scan();
  const element type = g.type(s.define);
  ir::block_builder& b = *at.block;
  const ir::value cell = b.accumulator(type, monoid::sum, false);
  if (f.carry != no_node) b.combine(cell, emit(f.carry, at));
  const int lanes = scan_lanes(element::f32);
  scope inner(at, open(at, f.walk, lanes, &places));
  inner.block->head().backward = f.backward;
  bind(inner, f.walk, lanes);
  const ir::value value = emit(f.value, inner);
  const bool keeps = g.type(f.factor) == element::boolean;
  const ir::value factor = emit(keeps ? f.factor : cast_to(g, type, f.factor), inner);
  const ir::value result = inner.block->recur_lanes(cell, factor, value, f.may_vanish);
  if (!f.ends) store_at(s, f.walk, result, inner, ir::none);
  inner.close();
  if (f.ends) store(s, b.read(cell), at);
}

void kernel_lowering::recur_in_blocks(const stage& s, scope& task, const range* chunk) {
  const plan::scan_form& f = s.scan();
  const node_id p = f.block_index;
  scope block(task, open(task, p, 1, chunk));
  bind(block, p, 1);
  const node_id start = make(g, op::add, g.arg(f.walk, 0), make(g, op::mul, p, integer(g, f.block)));
  const ir::value low = emit(start, block), end = emit(make(g, op::add, start, integer(g, f.block)), block);
  const ir::value last = emit(g.arg(f.walk, 1), block);
  recur_along(s, block, {low, block.block->emit(op::minimum, {end, last})});
  block.close();
}

// What each block comes to.
void kernel_lowering::scan_ends(const stage& s, scope& task, const range* chunk) {
  const plan::scan_form& f = s.scan();
  open_loops loops(*this, task);
  for (const node_id idx : s.loops)
    if (!loops.inner->bound.has(g.ordinal(idx))) loops.enter(idx, 1, nullptr);
  loops.enter(f.block_index, 1, chunk);
  scope& block = *loops.inner;
  const node_id start = make(g, op::add, g.arg(f.walk, 0), make(g, op::mul, f.block_index, integer(g, f.block)));
  const ir::value low = emit(start, block), end = emit(make(g, op::add, start, integer(g, f.block)), block);
  scan_block(s, block, {low, block.block->emit(op::minimum, {end, emit(g.arg(f.walk, 1), block)})});
  loops.close();
}

// Results before anything was walked over.
void kernel_lowering::scan_fill(const stage& s, scope& at, const range& t) {
  scope inner(at, open(at, s.owned, 1, &t));
  bind(inner, s.owned, 1);
  const element type = g.type(s.define);
  const node_id none = identity_of(g, s.scan().fold, type);
  store_at(s, s.owned, emit(cast_to(g, type, none), inner), inner, ir::none);
  inner.close();
}

void kernel_lowering::store_at(const stage& s, node_id place, ir::value stored, scope& at, ir::value mask) {
  std::vector<node_id> subscripts;
  for (const node_id idx : s.indices)
    subscripts.push_back(idx == s.owned ? make(g, op::sub, place, g.arg(idx, 0)) : position_of(idx));
  std::vector<ir::value> list;
  const std::int32_t id = buffers.at(s.define);
  const ir::access how = subscripts_of(id, subscripts, at, list);
  at.block->store(id, std::move(list), stored, how, mask, stores_once(s));
}

void kernel_lowering::scan(const stage& s, scope& task, const range* chunk) {
  const plan::scan_form& f = s.scan();
  if (f.factor != no_node && f.block > 0) return recur_in_blocks(s, task, chunk);
  if (f.ends) return scan_ends(s, task, chunk);
  const node_id t = s.owned, low = g.arg(t, 0), high = g.arg(t, 1);
  open_loops loops(*this, task);
  scope*& inner = loops.inner;
  const bool shared = s.parallel == t && chunk != nullptr;
  for (const node_id idx : s.loops) {
    if (inner->bound.has(g.ordinal(idx))) continue;
    loops.enter(idx, idx == s.vector ? s.lanes : 1, idx == s.parallel ? chunk : nullptr);
  }
  if (f.factor != no_node) {
    const bool adds = f.fold == monoid::sum && g.type(s.define) == element::f64;
    if (s.vector == no_node && adds && plan::may_vectorise(g, s.body, f.walk))
      recur_along(s, *inner, {emit(g.arg(f.walk, 0), *inner), emit(g.arg(f.walk, 1), *inner)});
    else
      recur(s, *inner);
    return loops.close();
  }
  range whole = shared ? *chunk : range{emit(low, *inner), emit(high, *inner)};
  if (f.block > 0) {
    ir::block_builder& b = *inner->block;
    const ir::value size = b.i64(f.block), start = emit(low, *inner);
    const ir::value first = b.emit(op::quotient, {b.emit(op::sub, {whole.low, start}), size});
    const ir::value last =
        b.emit(op::quotient, {b.emit(op::add, {b.emit(op::sub, {whole.high, start}), b.i64(f.block - 1)}), size});
    loops.enter(b.loop(ir::loop_kind::serial, index_text(t) + "_block", first, last));
    ir::block_builder& c = *inner->block;
    if (f.block_index != no_node) bind(*inner, f.block_index, 1);
    const ir::value from = c.emit(op::add, {start, c.emit(op::mul, {c.counter(), size})});
    const ir::value to = c.emit(op::minimum, {c.emit(op::add, {from, size}), whole.high});
    whole = {from, to};
    scan_block(s, *inner, whole);
    if (!f.open && !f.backward && f.shift == 0) {  // exclusive: no block comes to the first place
      const ir::value beyond = c.emit(op::minimum, {c.emit(op::add, {start, c.i64(1)}), to});
      scan_fill(s, *inner, {from, beyond});
    }
    if (f.open) scan_fill(s, *inner, {from, c.emit(op::add, {from, c.i64(1)})});
  } else {
    const node_id edge = f.backward ? make(g, op::sub, g.arg(f.walk, 1), integer(g, f.shift))
                                    : make(g, op::add, g.arg(f.walk, 0), integer(g, 1 - f.shift));
    if (f.backward && !known_less_equal(g, high, edge))
      scan_fill(s, *inner, {emit(make(g, op::maximum, low, edge), *inner), whole.high});
    if (!f.backward && !known_less_equal(g, edge, low))
      scan_fill(s, *inner, {whole.low, emit(make(g, op::minimum, high, edge), *inner)});
    scan_block(s, *inner, whole);
  }
  loops.close();
}

}  // namespace sheaf::inline v0_1::lower
