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

// Folds `from` into `to` between loops: of vectors that takes a loop of one turn.
void pass_on(ir::block_builder& b, ir::value from, ir::value to, int lanes) {
  const ir::value zero = b.i64(0), one_vector = b.i64(lanes);
  ir::block_builder turn = b.loop(ir::loop_kind::vector, "sums", zero, one_vector, lanes);
  const ir::value part = turn.read(from);
  turn.combine(to, part);
  turn.close();
}

ir::value as(ir::block_builder& b, element type, ir::value x) { return b.type_of(x) == type ? x : b.cast(type, x); }

// What runs over a block, in stretches where the form asks for it.
class running_fold {
 public:
  running_fold(const stage& s, monoid fold, ir::block_builder& b)
      : s_(s), fold_(fold), whole_(b.accumulator(s.window.type, fold, true)) {}

  // Calls body(scope, range) for the places, stretch by stretch.
  template <class Body>
  void over(scope& at, const range& places, bool backward, Body body) {
    const std::int64_t stretch = s_.window.stretch;
    if (stretch == 0) return body(at, places);
    ir::block_builder& b = *at.block;
    const ir::value size = b.i64(stretch), zero = b.i64(0);
    const ir::value room = b.emit(op::add, {b.emit(op::sub, {places.high, places.low}), b.i64(stretch - 1)});
    scope outer(at, b.loop(ir::loop_kind::serial, "stretch", zero, b.emit(op::quotient, {room, size})));
    ir::block_builder& c = *outer.block;
    part_ = c.accumulator(s_.window.type, fold_, true);
    const ir::value begun = c.emit(op::mul, {c.counter(), size});
    const ir::value from = c.emit(backward ? op::sub : op::add, {backward ? places.high : places.low, begun});
    const ir::value to = backward ? c.emit(op::maximum, {c.emit(op::sub, {from, size}), places.low})
                                  : c.emit(op::minimum, {c.emit(op::add, {from, size}), places.high});
    body(outer, backward ? range{to, from} : range{from, to});
    pass_on(c, part_, whole_, s_.lanes);
    outer.close();
  }
  // The fold so far, x included.
  ir::value with(ir::block_builder& c, ir::value x, bool backward) const {
    if (s_.window.stretch == 0) {
      c.combine(whole_, x);
      return c.read(whole_);
    }
    c.combine(part_, x);
    const ir::value part = c.read(part_), whole = c.read(whole_);
    return backward ? joined(c, fold_, part, whole) : joined(c, fold_, whole, part);
  }

 private:
  const stage& s_;
  monoid fold_;
  ir::value whole_, part_ = ir::none;
};

}  // namespace

// What window loops read: where every place is needed, or, under other indices so that their loads mask themselves, any place.
struct kernel_lowering::window_view {
  node_id t, walk, value;
  node_id reduce, body;
};

// The value at a place of the walk, as an expression in t.
node_id kernel_lowering::value_at(const window_view& v, node_id place) {
  plan::replacement put(g);
  put.add(v.walk, place);
  plan::trust_alike(g, v.value, put, plan.trusted);
  return put(v.value);
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
std::int32_t kernel_lowering::rest_of_block(const stage& s, const window_view& v, const range& t, scope& at) {
  const plan::window_form& w = s.window;
  const monoid fold = monoid_of(g, w.reduce);
  const auto [entry, fresh] = locals.try_emplace(s.define, -1);
  if (fresh)
    entry->second = ir::add_buffer(code, {.name = "rest_of_block",
                                          .type = w.type,
                                          .rank = 1,
                                          .where = ir::role::local,
                                          .elements = w.block,
                                          .extents = {}});
  const std::int32_t kept = entry->second;
  ir::block_builder& b = *at.block;
  const ir::value slider = b.slider(w.type, fold, s.lanes);
  const ir::value ahead = emit(w.ahead, at);
  const ir::value start = b.emit(op::add, {b.emit(op::add, {t.low, ahead}), b.i64(1 - s.lanes)});
  prime(s, slider, start, at, true);
  const ir::value low = b.emit(op::add, {start, b.i64(s.lanes * (1 - w.groups))});
  const ir::value shared = b.emit(op::add, {low, b.i64(w.block)});
  running_fold sum(s, fold, b);
  const auto walk = [&](const range& places, bool keeps) {
    sum.over(at, places, true, [&](scope& outer, const range& some) {
      scope inner(outer, open(outer, v.walk, s.lanes, &some));
      inner.block->head().backward = true;
      bind(inner, v.walk, s.lanes);
      ir::block_builder& c = *inner.block;
      const ir::value so_far = sum.with(c, c.slide_lanes(slider, emit(v.value, inner)), true);
      if (keeps) {
        const ir::value place = c.emit(op::sub, {c.counter(), low});
        c.store(kept, {place}, so_far, ir::access::contiguous);
      }
      inner.close();
    });
  };
  if (w.block < s.lanes * (w.groups - 1)) walk({shared, start}, false);
  walk({low, shared}, true);
  return kept;
}

void kernel_lowering::window_results(const stage& s, const window_view& v, const range& t, scope& at) {
  const plan::window_form& w = s.window;
  const monoid fold = monoid_of(g, w.reduce);
  const bool large = w.groups > 0;
  const std::int32_t kept = large ? rest_of_block(s, v, t, at) : -1;
  ir::block_builder& b = *at.block;
  const ir::value first = b.emit(op::sub, {b.emit(op::add, {t.low, emit(w.ahead, at)}), b.i64(s.lanes)});
  const ir::value slider = b.slider(w.type, fold, large ? s.lanes : static_cast<std::int32_t>(w.width));
  prime(s, slider, first, at, false);
  ir::value before = ir::none;
  if (large && w.rest > 0) {
    before = b.slider(w.type, fold, static_cast<std::int32_t>(w.rest));
    const ir::value earlier = b.emit(op::sub, {first, b.i64(s.lanes * w.groups)});
    prime(s, before, earlier, at, false);
  }
  const node_id end = make(g, op::add, v.t, w.ahead);
  const auto results = [&](scope& outer, const range& some, running_fold* sum) {
    scope inner(outer, open(outer, v.t, s.lanes, &some));
    bind(inner, v.t, s.lanes);
    ir::block_builder& c = *inner.block;
    ir::value result = c.slide_lanes(slider, emit(value_at(v, end), inner));
    if (large) {
      const ir::value so_far = sum->with(c, result, false), place = c.emit(op::sub, {c.counter(), t.low});
      const ir::value left = c.load(kept, w.type, {place}, ir::access::contiguous);
      result = joined(c, fold, left, so_far);
    }
    if (before != ir::none) {
      const node_id place = make(g, op::add, end, integer(g, -s.lanes * w.groups));
      const ir::value oldest = c.slide_lanes(before, emit(value_at(v, place), inner));
      result = joined(c, fold, oldest, result);
    }
    inner.values[2 * std::int64_t{v.reduce}] = as(c, g.type(w.reduce), result);
    const ir::value whole = emit(v.body, inner);
    if (v.t == s.owned)
      store(s, whole, inner);
    else
      store_at(s, v.t, whole, inner, ir::none);
    inner.close();
  };
  if (!large) return results(at, t, nullptr);
  running_fold sum(s, fold, b);
  sum.over(at, t, false, [&](scope& outer, const range& some) { results(outer, some, &sum); });
}

void kernel_lowering::window_blocks(const stage& s, const window_view& v, const range& t, scope& at) {
  if (s.window.groups == 0) return window_results(s, v, t, at);
  ir::block_builder& b = *at.block;
  const ir::value size = b.i64(s.window.block), zero = b.i64(0);
  const ir::value room = b.emit(op::add, {b.emit(op::sub, {t.high, t.low}), b.i64(s.window.block - 1)});
  scope inner(at,
              b.loop(ir::loop_kind::serial, index_text(s.owned) + "_block", zero, b.emit(op::quotient, {room, size})));
  ir::block_builder& c = *inner.block;
  const ir::value from = c.emit(op::add, {t.low, c.emit(op::mul, {c.counter(), size})});
  window_results(s, v, {from, c.emit(op::minimum, {c.emit(op::add, {from, size}), t.high})}, inner);
  inner.close();
}

// Only windows at both ends are cut: those between them need no masks.
void kernel_lowering::window_with_ends(const stage& s, const window_view& v, const range& t, scope& at) {
  const plan::window_form& w = s.window;
  const node_id whole_from = make(g, op::add, make(g, op::sub, w.first, w.ahead), integer(g, w.width - 1));
  const node_id whole_to = make(g, op::sub, w.last, w.ahead);
  ir::block_builder& b = *at.block;
  const auto clamped = [&](node_id e, ir::value low) {
    const ir::value x = emit(e, at);
    return b.emit(op::maximum, {b.emit(op::minimum, {x, t.high}), low});
  };
  const ir::value from = clamped(whole_from, t.low), to = clamped(whole_to, from);
  window_blocks(s, v, {from, to}, at);
  const ir::value zero = b.i64(0), two = b.i64(2);
  scope end(at, b.loop(ir::loop_kind::serial, index_text(s.owned) + "_end", zero, two));
  ir::block_builder& c = *end.block;
  const ir::value lower = c.emit(op::equal, {c.counter(), zero});
  const range cut{c.emit(op::select, {lower, t.low, to}), c.emit(op::select, {lower, from, t.high})};
  plan::replacement put(g);
  const node_id other = plan::fresh_index(g, v.t, g.arg(v.t, 0), g.arg(v.t, 1));
  put.add(v.t, other);
  plan::trust_alike(g, v.body, put, plan.trusted);
  window_blocks(s, {other, w.around, w.guarded, put(v.reduce), put(v.body)}, cut, end);
  end.close();
}

void kernel_lowering::window(const stage& s, scope& piece, const range* chunk) {
  const node_id t = s.owned;
  std::vector<std::unique_ptr<scope>> nest;
  scope* inner = &piece;
  for (const node_id idx : s.loops) {
    if (idx == t || inner->bound.has(g.ordinal(idx))) continue;
    nest.push_back(std::make_unique<scope>(*inner, open(*inner, idx, 1, idx == s.parallel ? chunk : nullptr)));
    inner = nest.back().get();
    bind(*inner, idx, 1);
  }
  range results{};
  if (chunk != nullptr && s.parallel == t)
    results = *chunk;
  else
    results = {emit(g.arg(t, 0), *inner), emit(g.arg(t, 1), *inner)};
  const window_view all{t, s.window.walk, s.window.value, s.window.reduce, s.body};
  if (s.window.first == no_node)
    window_blocks(s, all, results, *inner);
  else
    window_with_ends(s, all, results, *inner);
  while (!nest.empty()) {
    nest.back()->close();
    nest.pop_back();
  }
}

}  // namespace sheaf::lower
