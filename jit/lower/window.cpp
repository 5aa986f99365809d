// Windows: each vector of results folds vectors that slide by one register at a time. Where it folds many, those before a
// block of results are folded from its beginning backwards and kept in a local buffer, those in it run along with it.
#include <memory>

#include <sheaf/jit/lower/lowering.hpp>

namespace sheaf::lower {

namespace {

ir::value joined(ir::block_builder& b, monoid fold, ir::value first, ir::value second) {
  if (!is_own(fold)) return b.emit(row(fold).combine, {first, second});
  const ir::value cell = b.accumulator(b.type_of(first), fold, true);
  b.combine(cell, first);
  b.combine(cell, second);
  return b.read(cell);
}

ir::value as(ir::block_builder& b, element type, ir::value x) { return b.type_of(x) == type ? x : b.cast(type, x); }

}  // namespace

// The value at a place of the walk, as an expression in t.
node_id kernel_lowering::value_at(const stage& s, node_id place) {
  plan::replacement put(g);
  put.add(s.window.walk, place);
  plan::trust_alike(g, s.window.value, put, plan.trusted);
  return put(s.window.value);
}

// What a slider needs to know of the lanes before its first vector: those of the vector that begins at `first`.
void kernel_lowering::prime(const stage& s, ir::value slider, ir::value first, scope& at, bool backward) {
  const plan::window_form& w = s.window;
  ir::block_builder& b = *at.block;
  const range one{first, b.emit(op::add, {first, b.i64(s.lanes)})};
  scope inner(at, open(at, w.around, s.lanes, &one));
  inner.block->head().backward = backward;
  bind(inner, w.around, s.lanes);
  inner.block->slide_lanes(slider, emit(w.guarded, inner));
  inner.close();
}

// For each of a block's results the fold of the groups before the block that it has.
std::int32_t kernel_lowering::rest_of_block(const stage& s, const range& t, scope& at) {
  const plan::window_form& w = s.window;
  const monoid fold = monoid_of(g, w.reduce);
  const std::int32_t kept = ir::add_buffer(code, {.name = "rest_of_block",
                                                  .type = w.type,
                                                  .rank = 1,
                                                  .where = ir::role::local,
                                                  .elements = w.block,
                                                  .extents = {}});
  ir::block_builder& b = *at.block;
  const ir::value slider = b.slider(w.type, fold, s.lanes), running = b.accumulator(w.carried, fold, true);
  const ir::value ahead = emit(w.ahead, at);
  const ir::value start = b.emit(op::add, {b.emit(op::add, {t.low, ahead}), b.i64(1 - s.lanes)});
  prime(s, slider, start, at, true);
  const ir::value low = b.emit(op::add, {start, b.i64(s.lanes * (1 - w.groups))});
  const ir::value shared = b.emit(op::add, {low, b.i64(w.block)});
  const auto walk = [&](const range& places, bool keeps) {
    scope inner(at, open(at, w.walk, s.lanes, &places));
    inner.block->head().backward = true;
    bind(inner, w.walk, s.lanes);
    ir::block_builder& c = *inner.block;
    const ir::value group = c.slide_lanes(slider, emit(w.value, inner));
    c.combine(running, as(c, w.carried, group));
    if (keeps) {
      const ir::value so_far = c.read(running), place = c.emit(op::sub, {c.counter(), low});
      c.store(kept, {place}, as(c, w.type, so_far), ir::access::contiguous);
    }
    inner.close();
  };
  if (w.block < s.lanes * (w.groups - 1)) walk({shared, start}, false);
  walk({low, shared}, true);
  return kept;
}

void kernel_lowering::window_results(const stage& s, const range& t, scope& at) {
  const plan::window_form& w = s.window;
  const monoid fold = monoid_of(g, w.reduce);
  const bool large = w.groups > 0;
  const std::int32_t kept = large ? rest_of_block(s, t, at) : -1;
  ir::block_builder& b = *at.block;
  const ir::value first = b.emit(op::sub, {b.emit(op::add, {t.low, emit(w.ahead, at)}), b.i64(s.lanes)});
  const ir::value slider = b.slider(w.type, fold, large ? s.lanes : static_cast<std::int32_t>(w.width));
  prime(s, slider, first, at, false);
  ir::value running = ir::none, before = ir::none;
  if (large) running = b.accumulator(w.carried, fold, true);
  if (large && w.rest > 0) {
    before = b.slider(w.type, fold, static_cast<std::int32_t>(w.rest));
    const ir::value earlier = b.emit(op::sub, {first, b.i64(s.lanes * w.groups)});
    prime(s, before, earlier, at, false);
  }
  scope inner(at, open(at, s.owned, s.lanes, &t));
  bind(inner, s.owned, s.lanes);
  ir::block_builder& c = *inner.block;
  const node_id end = make(g, op::add, s.owned, w.ahead);
  ir::value result = c.slide_lanes(slider, emit(value_at(s, end), inner));
  if (large) {
    c.combine(running, as(c, w.carried, result));
    const ir::value so_far = c.read(running), place = c.emit(op::sub, {c.counter(), t.low});
    const ir::value left = c.load(kept, w.type, {place}, ir::access::contiguous);
    result = joined(c, fold, left, as(c, w.type, so_far));
  }
  if (before != ir::none) {
    const node_id place = make(g, op::add, end, integer(g, -s.lanes * w.groups));
    const ir::value oldest = c.slide_lanes(before, emit(value_at(s, place), inner));
    result = joined(c, fold, oldest, result);
  }
  inner.values[2 * std::int64_t{w.reduce}] = as(c, g.type(w.reduce), result);
  store(s, emit(s.body, inner), inner);
  inner.close();
}

void kernel_lowering::window(const stage& s, scope& piece, const range* chunk) {
  const node_id t = s.owned;
  std::vector<std::unique_ptr<scope>> nest;
  scope* inner = &piece;
  const auto enter = [&](ir::block_builder made) {
    nest.push_back(std::make_unique<scope>(*inner, std::move(made)));
    inner = nest.back().get();
  };
  for (const node_id idx : s.loops) {
    if (idx == t || inner->bound.has(g.ordinal(idx))) continue;
    enter(open(*inner, idx, 1, idx == s.parallel ? chunk : nullptr));
    bind(*inner, idx, 1);
  }
  range results{};
  if (chunk != nullptr && s.parallel == t)
    results = *chunk;
  else
    results = {emit(g.arg(t, 0), *inner), emit(g.arg(t, 1), *inner)};
  if (s.window.groups > 0) {
    ir::block_builder& b = *inner->block;
    const ir::value size = b.i64(s.window.block), zero = b.i64(0);
    const ir::value room = b.emit(op::add, {b.emit(op::sub, {results.high, results.low}), b.i64(s.window.block - 1)});
    enter(b.loop(ir::loop_kind::serial, index_text(t) + "_block", zero, b.emit(op::quotient, {room, size})));
    ir::block_builder& c = *inner->block;
    const ir::value from = c.emit(op::add, {results.low, c.emit(op::mul, {c.counter(), size})});
    results = {from, c.emit(op::minimum, {c.emit(op::add, {from, size}), results.high})};
  }
  window_results(s, results, *inner);
  while (!nest.empty()) {
    nest.back()->close();
    nest.pop_back();
  }
}

}  // namespace sheaf::lower
