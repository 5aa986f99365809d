// Windows: each vector of results folds vectors that slide by one register at a time. Where it folds many, those
// before a block of results are folded from its beginning backwards and kept in a local buffer, those in it run along
// with it. On a GPU both are scans, whose lanes are the elements of a block.
#include <memory>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/lower/window_fold.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

using tuning::prefetch::window_bytes;

// Is the rest of a block made of the block before alone?
bool keeps_folds(const stage& s) {
  return !s.window().scans && s.window().block == s.lanes * (s.window().groups - 1);
}

// Of the elements before a block's results, those whose folds are kept: some more than results are, rather than a
// vector of their own.
std::int64_t kept_of_block(const stage& s) {
  const plan::window_form& w = s.window();
  return w.scans && w.width - 1 < w.block + s.lanes ? w.width - 1 : w.block;
}

ir::value as(ir::block_builder& b, element type, ir::value x) { return b.type_of(x) == type ? x : b.cast(type, x); }

}  // namespace

// What window loops read: where every place is needed, or, under other indices so that their loads mask themselves,
// any place. Of ties, `mine` is what the extremum of a window's keys must equal.
struct kernel_lowering::window_view {
  node_id t, walk, value, key, mine;
  node_id reduce, body;
};

folded kernel_lowering::element_of(const stage& s, node_id value, node_id key, scope& at) {
  ir::block_builder& b = *at.block;
  if (key == no_node) return {emit(value, at)};
  // A NaN ties with nothing: it counts as no element.
  const ir::value found = emit(key, at), counts = b.emit(op::equal, {found, found});
  const ir::value none = emit(identity_of(g, s.window().extremum, s.window().key_type), at);
  const ir::value x = emit(value, at), zero = b.constant(s.window().type, 0);
  return {b.emit(op::select, {counts, x, zero}), b.emit(op::select, {counts, found, none})};
}

// The value at a place of the walk, as an expression in t.
node_id kernel_lowering::value_at(const window_view& v, node_id value, node_id place) {
  if (value == no_node) return no_node;
  return plan::with(g, value, v.walk, place, proofs::kept);
}

// What a slider needs to know of the lanes before its first vector: those of the vector that begins at `first`.
void kernel_lowering::prime(const stage& s, const sliding_fold& slider, ir::value first, scope& at, bool backward) {
  const plan::window_form& w = s.window();
  ir::block_builder& b = *at.block;
  const range one{first, b.emit(op::add, {first, b.i64(s.lanes)})};
  scope inner(at, open(at, w.around, s.lanes, &one));
  inner.block->head().backward = backward;
  bind(inner, w.around, s.lanes);
  slider(*inner.block, element_of(s, w.guarded, w.guarded_key, inner), backward);
  inner.close();
}

// A local buffer for one number a result of a block.
std::int32_t kernel_lowering::block_buffer(std::unordered_map<node_id, std::int32_t>& by, const stage& s,
                                           element type) {
  const auto [entry, fresh] = by.try_emplace(s.define, -1);
  if (fresh)
    entry->second = ir::add_buffer(code, {.name = &by == &locals ? "rest_of_block" : "keys_of_block",
                                          .type = type,
                                          .rank = 1,
                                          .where = ir::role::local,
                                          .elements = kept_of_block(s),
                                          .extents = {}});
  return entry->second;
}

// For each of a block's results the fold of the groups before the block that it has.
void kernel_lowering::rest_of_block(const stage& s, const window_view& v, const range& t, scope& at) {
  const plan::window_form& w = s.window();
  const window_fold fold(g, s);
  const std::int32_t kept = block_buffer(locals, s, w.type);
  const std::int32_t keys = fold.tied ? block_buffer(local_keys, s, w.key_type) : -1;
  ir::block_builder& b = *at.block;
  const sliding_fold slider(fold, b, s.lanes);
  const ir::value ahead = emit(w.ahead, at);
  const ir::value start = b.emit(op::add, {b.emit(op::add, {t.low, ahead}), b.i64(1 - s.lanes)});
  prime(s, slider, start, at, true);
  const ir::value low = b.emit(op::add, {start, b.i64(s.lanes * (1 - w.groups))});
  const ir::value shared = b.emit(op::add, {low, b.i64(w.block)});
  running_fold sum(fold, b);
  const auto walk = [&](const range& places, bool keeps) {
    sum.over(at, places, true, [&](scope& outer, const range& some) {
      scope inner(outer, open(outer, v.walk, s.lanes, &some));
      inner.block->head().backward = true;
      bind(inner, v.walk, s.lanes);
      ir::block_builder& c = *inner.block;
      const folded so_far = sum.with(c, slider(c, element_of(s, v.value, v.key, inner), true), true);
      if (keeps) {
        const ir::value place = c.emit(op::sub, {c.counter(), low});
        c.store(kept, {place}, so_far.value, ir::access::contiguous);
        if (fold.tied) c.store(keys, {place}, so_far.key, ir::access::contiguous);
      }
      inner.close();
    });
  };
  if (w.block < s.lanes * (w.groups - 1)) walk({shared, start}, false);
  walk({low, shared}, true);
}

// The same where lanes lie along the running folds.
void kernel_lowering::rest_of_scan(const stage& s, const window_view& v, const range& t, scope& at) {
  const plan::window_form& w = s.window();
  const std::int32_t kept = block_buffer(locals, s, w.type);
  ir::block_builder& b = *at.block;
  const ir::value high = b.emit(op::add, {t.low, emit(w.ahead, at)});
  const ir::value low = b.emit(op::add, {high, b.i64(1 - w.width)});
  const ir::value cell = scanned_cell(b, s);
  const auto walk = [&](const range& places, bool keeps) {
    scope inner(at, open(at, v.walk, s.lanes, &places));
    inner.block->head().backward = true;
    bind(inner, v.walk, s.lanes);
    ir::block_builder& c = *inner.block;
    const ir::value so_far = c.scan_lanes(cell, emit(v.value, inner));
    if (keeps) c.store(kept, {c.emit(op::sub, {c.counter(), low})}, so_far, ir::access::contiguous);
    inner.close();
  };
  const std::int64_t size = kept_of_block(s);
  if (size == w.width - 1) return walk({low, high}, true);
  const ir::value shared = b.emit(op::add, {low, b.i64(size)});
  walk({shared, high}, false);
  walk({low, shared}, true);
}

ir::value kernel_lowering::scanned_cell(ir::block_builder& b, const stage& s) {
  const monoid fold = monoid_of(g, s.window().reduce);
  const element type = s.window().type;
  return b.accumulator(is_own(fold) ? type : numerics::carried(fold, type), fold, false);
}

void kernel_lowering::scanned_results(const stage& s, const window_view& v, const range& t, scope& at) {
  const plan::window_form& w = s.window();
  rest_of_scan(s, v, t, at);
  const ir::value cell = scanned_cell(*at.block, s);
  scope inner(at, open(at, v.t, s.lanes, &t));
  bind(inner, v.t, s.lanes);
  ir::block_builder& c = *inner.block;
  const ir::value so_far = c.scan_lanes(cell, emit(value_at(v, v.value, make(g, op::add, v.t, w.ahead)), inner));
  const ir::value place = c.emit(op::sub, {c.counter(), t.low});
  const ir::value left = c.load(locals.at(s.define), w.type, {place}, ir::access::contiguous);
  const folded whole = window_fold(g, s).joined(c, {left}, {so_far});
  inner.values[2 * std::int64_t{v.reduce}] = finished(s, v, whole, inner);
  store_window(s, v, inner);
  inner.close();
}

void kernel_lowering::store_window(const stage& s, const window_view& v, scope& inner) {
  const ir::value whole = emit(v.body, inner);
  if (v.t == s.owned)
    store(s, whole, inner);
  else
    store_at(s, v.t, whole, inner, ir::none);
}

// What the body has for the reduction: of ties, nothing where a window's extremum is another one.
ir::value kernel_lowering::finished(const stage& s, const window_view& v, folded x, scope& inner) {
  ir::block_builder& c = *inner.block;
  if (v.key != no_node) {
    const ir::value mine = emit(v.mine, inner), zero = c.constant(s.window().type, 0);
    x.value = c.emit(op::select, {c.emit(op::equal, {mine, x.key}), x.value, zero});
  }
  return as(c, g.type(s.window().reduce), x.value);
}

// The folds that the results of a whole block have left in the buffer, before the next one: its rest, without a fold
// twice.
void kernel_lowering::rest_from_folds(const stage& s, ir::value more, scope& at) {
  const window_fold fold(g, s);
  const std::int32_t kept = locals.at(s.define), keys = fold.tied ? local_keys.at(s.define) : -1;
  ir::block_builder& b = *at.block;
  running_fold sum(fold, b);
  const ir::value zero = b.i64(0), size = b.i64(s.window().block);
  const range places{zero, b.emit(op::select, {more, size, zero})};
  sum.over(at, places, true, [&](scope& outer, const range& some) {
    scope inner(outer, outer.block->loop(ir::loop_kind::vector, "rest", some.low, some.high, s.lanes));
    inner.block->head().backward = true;
    ir::block_builder& c = *inner.block;
    const ir::value place = c.counter();
    folded x{c.load(kept, s.window().type, {place}, ir::access::contiguous)};
    if (fold.tied) x.key = c.load(keys, s.window().key_type, {place}, ir::access::contiguous);
    const folded so_far = sum.with(c, x, true);
    c.store(kept, {place}, so_far.value, ir::access::contiguous);
    if (fold.tied) c.store(keys, {place}, so_far.key, ir::access::contiguous);
    inner.close();
  });
}

// Prefetches what comes some kilobytes later. While a block's rest is folded nothing comes from memory: what the
// hardware prefetcher reads ahead begins anew with each block.
void kernel_lowering::prefetch_window(const stage& s, const window_view& v, node_id end, scope& inner) {
  if (s.window().groups == 0 || v.t != s.owned) return;
  plan::for_each_node(g, v.value, [&](node_id n) {
    if (g.kind(n) != op::load || g.kind(g.arg(n, 0)) != op::input || plan::holds(g, n, op::reduce)) return;
    const std::int32_t id = buffers.at(g.arg(n, 0));
    const line along = split_affine(g, g.arg(n, g[n].count - 1), v.walk);
    if (known.bytes(g.arg(n, 0)) < known.call().on.from_memory() || !buffer(id).unit_inner || !along.affine ||
        along.slope != 1)
      return;
    plan::replacement later(g);
    later.add(v.walk, make(g, op::add, end, integer(g, window_bytes / sheaf::row(g.type(n)).bytes)));
    std::vector<ir::value> list;
    for (int d = 1; d < g[n].count; ++d) {
      const node_id e = later(g.arg(n, d));
      if (plan::holds(g, e, op::load) || !g.free[e].within(inner.bound)) return;
      list.push_back(emit(e, inner, true));
    }
    inner.block->prefetch(id, std::move(list));
  });
}

void kernel_lowering::window_results(const stage& s, const window_view& v, const range& t, scope& at) {
  const plan::window_form& w = s.window();
  if (w.scans) return scanned_results(s, v, t, at);
  const window_fold fold(g, s);
  const bool large = w.groups > 0;
  if (large && !keeps_folds(s)) rest_of_block(s, v, t, at);
  ir::block_builder& b = *at.block;
  const ir::value first = b.emit(op::sub, {b.emit(op::add, {t.low, emit(w.ahead, at)}), b.i64(s.lanes)});
  const sliding_fold slider(fold, b, large ? s.lanes : w.width);
  prime(s, slider, first, at, false);
  std::optional<sliding_fold> before;
  if (large && w.rest > 0) {
    before.emplace(fold, b, w.rest);
    const ir::value earlier = b.emit(op::sub, {first, b.i64(s.lanes * w.groups)});
    prime(s, *before, earlier, at, false);
  }
  const node_id end = make(g, op::add, v.t, w.ahead);
  const auto element_at = [&](node_id place, scope& inner) {
    return element_of(s, value_at(v, v.value, place), value_at(v, v.key, place), inner);
  };
  const auto results = [&](scope& outer, const range& some, running_fold* sum) {
    scope inner(outer, open(outer, v.t, s.lanes, &some));
    bind(inner, v.t, s.lanes);
    ir::block_builder& c = *inner.block;
    folded result = slider(c, element_at(end, inner), false);
    prefetch_window(s, v, end, inner);
    if (large) {
      const folded so_far = sum->with(c, result, false);
      const ir::value place = c.emit(op::sub, {c.counter(), t.low});
      folded left{c.load(locals.at(s.define), w.type, {place}, ir::access::contiguous)};
      if (fold.tied) left.key = c.load(local_keys.at(s.define), w.key_type, {place}, ir::access::contiguous);
      if (keeps_folds(s)) c.store(locals.at(s.define), {place}, result.value, ir::access::contiguous);
      if (keeps_folds(s) && fold.tied) c.store(local_keys.at(s.define), {place}, result.key, ir::access::contiguous);
      result = fold.joined(c, left, so_far);
    }
    if (before) {
      const node_id place = make(g, op::add, end, integer(g, -s.lanes * w.groups));
      const folded oldest = (*before)(c, element_at(place, inner), false);
      result = fold.joined(c, oldest, result);
    }
    inner.values[2 * std::int64_t{v.reduce}] = finished(s, v, result, inner);
    store_window(s, v, inner);
    inner.close();
  };
  if (!large) return results(at, t, nullptr);
  running_fold sum(fold, b);
  sum.over(at, t, false, [&](scope& outer, const range& some) { results(outer, some, &sum); });
}

void kernel_lowering::window_blocks(const stage& s, const window_view& v, const range& t, scope& at) {
  if (s.window().groups == 0) return window_results(s, v, t, at);
  ir::block_builder& b = *at.block;
  const ir::value size = b.i64(s.window().block), zero = b.i64(0);
  const ir::value room = b.emit(op::add, {b.emit(op::sub, {t.high, t.low}), b.i64(s.window().block - 1)});
  const ir::value count = b.emit(op::quotient, {room, size});
  if (keeps_folds(s)) {
    const ir::value once = b.emit(op::minimum, {count, b.i64(1)});
    scope first(at, b.loop(ir::loop_kind::serial, index_text(s.owned) + "_first", zero, once));
    rest_of_block(s, v, t, first);
    first.close();
  }
  scope inner(at, b.loop(ir::loop_kind::serial, index_text(s.owned) + "_block", zero, count));
  ir::block_builder& c = *inner.block;
  const ir::value from = c.emit(op::add, {t.low, c.emit(op::mul, {c.counter(), size})});
  const ir::value to = c.emit(op::minimum, {c.emit(op::add, {from, size}), t.high});
  window_results(s, v, {from, to}, inner);
  if (keeps_folds(s)) rest_from_folds(s, c.emit(op::less, {to, t.high}), inner);
  inner.close();
}

// Only windows at both ends are cut: those between them need no masks.
void kernel_lowering::window_with_ends(const stage& s, const window_view& v, const range& t, scope& at) {
  const plan::window_form& w = s.window();
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
  plan::replacement put(g, proofs::kept);
  const node_id other = plan::fresh_index(g, v.t, g.arg(v.t, 0), g.arg(v.t, 1));
  put.add(v.t, other);
  const node_id mine = v.mine == no_node ? no_node : put(v.mine);
  window_blocks(s, {other, w.around, w.guarded, w.guarded_key, mine, put(v.reduce), put(v.body)}, cut, end);
  end.close();
}

void kernel_lowering::window(const stage& s, scope& task, const range* chunk) {
  const node_id t = s.owned;
  open_loops loops(*this, task);
  scope*& inner = loops.inner;
  for (const node_id idx : s.loops)
    if (idx != t && !inner->bound.has(g.ordinal(idx))) loops.enter(idx, 1, idx == s.parallel ? chunk : nullptr);
  range results{};
  if (chunk != nullptr && s.parallel == t)
    results = *chunk;
  else
    results = {emit(g.arg(t, 0), *inner), emit(g.arg(t, 1), *inner)};
  const plan::window_form& w = s.window();
  const window_view all{t, w.walk, w.value, w.key, w.mine, w.reduce, s.body};
  if (w.first == no_node)
    window_blocks(s, all, results, *inner);
  else
    window_with_ends(s, all, results, *inner);
  loops.close();
}

}  // namespace sheaf::inline v0_1::lower
