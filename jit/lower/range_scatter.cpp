// Range scatters with lists: first which slices begin in which chunk of rows, then, chunk by chunk, the rows
// themselves. A task walks the slices that meet its rows and knows how far its rows are written: what a slice finds
// untouched is stored, what others wrote before is combined with, and what lies between is filled. The slices of a
// chunk come in one order, so no result depends on how chunks are shared.
#include <algorithm>
#include <bit>
#include <memory>

#include <sheaf/jit/ir/passes/non_temporal_stores.hpp>
#include <sheaf/jit/lower/sort.hpp>
#include <sheaf/jit/plan/algorithms/range_scatter/ragged.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/plan/algorithms/sort/sort.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

using plan::slice_lists;

// A slice's rows, as numbers inside the owned range.
struct lists_lowering {
  kernel_lowering& k;
  const slice_lists& l;
  std::int32_t array;
  ir::value start, stop, chunks, size;  // of the owned range, of a chunk
  ir::value shift = ir::none;           // of rows to chunks, where the size is no constant

  ir::value at(ir::block_builder& b, ir::value position) const { return b.load(array, element::i64, {position}); }
  void put(ir::block_builder& b, ir::value position, ir::value x) const { b.store(array, {position}, x); }
  ir::value ends(ir::block_builder& b, ir::value chunk) const { return b.emit(op::add, {chunks, chunk}); }
  ir::value order(ir::block_builder& b, ir::value position) const {
    const ir::value twice = b.emit(op::add, {chunks, chunks}), first = b.emit(op::add, {twice, b.i64(1)});
    return b.emit(op::add, {first, position});
  }
  range rows(scope& s) const {
    const ir::value low = k.emit(l.low, s), high = k.emit(l.high, s);
    return {s.block->emit(op::maximum, {low, start}), s.block->emit(op::minimum, {high, stop})};
  }
  range rows_within(scope& s, const range& own) const {
    const range all = rows(s);
    const ir::value low = s.block->emit(op::maximum, {all.low, own.low});
    return {low, s.block->emit(op::minimum, {all.high, own.high})};
  }
  ir::value chunk_of(ir::block_builder& b, ir::value row) const {
    const ir::value rows = b.emit(op::sub, {row, start});
    return shift == ir::none ? b.emit(op::quotient, {rows, size}) : b.emit(op::shift_right, {rows, shift});
  }
};

lists_lowering lists_of(kernel_lowering& k, const slice_lists& l, std::int32_t array, scope& s) {
  const ir::value start = k.emit(k.g.arg(l.owned, 0), s), stop = k.emit(k.g.arg(l.owned, 1), s);
  const ir::value chunks = k.emit(plan::chunks_of(k.g, l), s), size = k.emit(plan::rows_of_chunk(k.g, l), s);
  if (l.shift == no_node) return {k, l, array, start, stop, chunks, size};
  const node_id whole = integer(k.g, std::countr_zero(static_cast<std::uint64_t>(l.chunk)));
  return {k, l, array, start, stop, chunks, size, k.emit(make(k.g, op::add, l.shift, whole), s)};
}

// The chunk of a slice's first row, which may be none.
ir::value chunk_within(const lists_lowering& a, ir::block_builder& b, ir::value row) {
  const ir::value last = b.emit(op::sub, {a.stop, b.i64(1)});
  return a.chunk_of(b, b.emit(op::maximum, {b.emit(op::minimum, {row, last}), a.start}));
}

// Runs body(scope, rows, chunk of the first) for every slice that has rows.
template <class Body>
void each_slice(lists_lowering& a, scope& s, Body&& body) {
  kernel_lowering& k = a.k;
  scope walk(s, k.open(s, a.l.slice, 1));
  k.bind(walk, a.l.slice, 1);
  const range rows = a.rows(walk);
  if (a.l.all) {
    body(walk, rows, chunk_within(a, *walk.block, rows.low));
    return walk.close();
  }
  scope inner(walk, walk.block->guard(walk.block->emit(op::less, {rows.low, rows.high})));
  body(inner, rows, a.chunk_of(*inner.block, rows.low));
  inner.close();
  walk.close();
}

// The same in lanes, of iterations of the slice: body(scope, chunk, which of them are).
void lanes_of_slices(lists_lowering& a, scope& s, const range& iterations, std::int64_t most, const lanes_body& body) {
  const int lanes = lanes_of_walk(a.k.known, shapes::amount(most));
  scope walk(s, a.k.open(s, a.l.slice, lanes, &iterations));
  a.k.bind(walk, a.l.slice, lanes);
  ir::block_builder& b = *walk.block;
  const range rows = a.rows(walk);
  const ir::value low = in_lanes(b, rows.low);
  body(walk, chunk_within(a, b, low), a.l.all ? ir::none : b.emit(op::less, {low, rows.high}));
  walk.close();
}

}  // namespace

// A counting sort, and then for each chunk the first slice in the order that reaches it.
void kernel_lowering::list_slices(const stage& s, scope& top) {
  lists_lowering a = lists_of(*this, s.slices, buffers.at(s.define), top);
  ir::block_builder& b = *top.block;
  const ir::value zero = b.i64(0), one = b.i64(1);
  const ir::value rows_in_all = b.accumulator(element::i64, monoid::sum, false);
  const ir::value slices = b.accumulator(element::i64, monoid::sum, false);
  const ir::value reached = b.accumulator(element::i64, monoid::max, false);
  b.combine(reached, zero);
  {
    ir::block_builder c = b.loop(ir::loop_kind::serial, "clear", zero, a.chunks);
    a.put(c, a.ends(c, c.counter()), zero);
    c.close();
  }
  each_slice(a, top, [&](scope& in, const range& rows, ir::value chunk) {
    ir::block_builder& c = *in.block;
    const ir::value at = a.ends(c, chunk);
    a.put(c, at, c.emit(op::add, {a.at(c, at), one}));
    c.combine(rows_in_all, c.emit(op::sub, {rows.high, rows.low}));
  });
  {
    ir::block_builder c = b.loop(ir::loop_kind::serial, "chunk", zero, a.chunks);
    const ir::value at = a.ends(c, c.counter()), count = a.at(c, at);
    a.put(c, at, c.read(slices));
    c.combine(slices, count);
    c.close();
  }
  each_slice(a, top, [&](scope& in, const range&, ir::value chunk) {
    ir::block_builder& c = *in.block;
    const ir::value at = a.ends(c, chunk), position = a.at(c, at);
    a.put(c, a.order(c, position), emit(s.slices.slice, in));
    a.put(c, at, c.emit(op::add, {position, one}));
  });
  if (s.slices.all) return;
  scope walk(top, b.loop(ir::loop_kind::serial, "position", zero, b.read(slices)));
  ir::block_builder& c = *walk.block;
  walk.bind_to(g, s.slices.slice, a.at(c, a.order(c, c.counter())));
  const ir::value last = a.chunk_of(c, c.emit(op::sub, {a.rows(walk).high, one}));
  const ir::value end = c.emit(op::add, {last, one});
  ir::block_builder d = c.loop(ir::loop_kind::serial, "reach", c.read(reached), end);
  a.put(d, d.counter(), c.counter());
  d.close();
  c.combine(reached, end);
  walk.close();
  ir::block_builder rest = b.loop(ir::loop_kind::serial, "rest", b.read(reached), a.chunks);
  a.put(rest, rest.counter(), b.read(slices));
  rest.close();
  a.put(b, b.emit(op::add, {a.chunks, a.chunks}), b.read(rows_in_all));
}

// The same by all threads of a GPU; how many rows slices have together is not asked there.
void kernel_lowering::sort_slices(const stage& s, int part, scope& top) {
  lists_lowering a = lists_of(*this, s.slices, buffers.at(s.define), top);
  list_to_sort list{.array = a.array};
  list.walk = [&](scope& at, const range& iterations, const lanes_body& body) {
    lanes_of_slices(a, at, iterations, s.sort.iterations, body);
  };
  list.index = [&](scope& in, std::size_t) { return emit(s.slices.slice, in); };
  list.place = [&](ir::block_builder& b, std::size_t, ir::value n) { return a.order(b, n); };
  if (plan::has_reaches(s))
    list.reach = [&](scope& in) {
      ir::block_builder& b = *in.block;
      const ir::value last = b.emit(op::sub, {a.rows(in).high, b.i64(1)});
      return b.emit(op::add, {a.chunk_of(b, last), b.i64(1)});
    };
  sort(s, part, list, top);
}

// The slice that a map stage has its iteration with.
void kernel_lowering::bind_in_order(const stage& s, scope& top, scope& inner, ir::value when) {
  const lists_lowering a = lists_of(*this, s.slices, buffers.at(s.slices.array), top);
  ir::block_builder& b = *inner.block;
  const node_id m = s.slices.slice;
  const ir::value iteration = b.emit(op::sub, {b.counter(), emit(g.arg(m, 0), top)});
  const ir::value listed = b.load(a.array, element::i64, {a.order(b, iteration)}, ir::access::uniform, when);
  inner.bind_to(g, m, b.emit(op::select, {when, listed, b.counter()}));
}

namespace {

enum class what { fill, store, combine };

// The loops over rows `j` and the other indices of the results, with a statement for each stage inside.
class row_writer {
 public:
  row_writer(kernel_lowering& k, const std::vector<const stage*>& stages, const plan::updated_rows& t)
      : k_(k), stages_(stages), s_(*stages.front()), t_(t) {}
  bool based = true;  // rows begin with what their stage says

  // One test for all the loops where there is nothing to do.
  void where_any(scope& at, const range& rows, what act, bool once) {
    scope some(at, at.block->guard(at.block->emit(op::less, {rows.low, rows.high})));
    (*this)(some, rows, act, once);
    some.close();
  }
  void operator()(scope& at, const range& rows, what act, bool once) {
    if (!once || s_.vector != s_.owned) return nest(at, rows, act, once, false);
    // Stores go by non-temporal stores only from addresses that a row of lanes divides.
    ir::block_builder& b = *at.block;
    const ir::value lanes = b.i64(s_.lanes), start = k_.emit(k_.g.arg(s_.owned, 0), at);
    const ir::value room = b.emit(op::add, {b.emit(op::sub, {rows.low, start}), b.i64(s_.lanes - 1)});
    const ir::value whole = b.emit(op::add, {start, b.emit(op::mul, {b.emit(op::quotient, {room, lanes}), lanes})});
    const ir::value middle = b.emit(op::minimum, {whole, b.emit(op::maximum, {rows.low, rows.high})});
    nest(at, {rows.low, middle}, act, false, true);
    nest(at, {middle, rows.high}, act, true, false);
  }
  // Rows before `until` are written. `once`: few rows are of several slices, so that hardly any is wanted again.
  void slice(scope& at, const range& rows, ir::value until, bool once) {
    ir::block_builder& b = *at.block;
    graph& g = k_.g;
    for (const stage* each : stages_)  // once for all the loops below
      plan::for_each_node(g, g.arg(each->body, 0), [&](node_id n) {
        if (g.kind(n) == op::reduce && g.free[n].within(at.bound)) k_.emit(n, at);
      });
    where_any(at, {until, rows.low}, what::fill, once);
    if (is_true(g, t_.rest)) {
      const ir::value fresh = b.emit(op::minimum, {b.emit(op::maximum, {until, rows.low}), rows.high});
      where_any(at, {rows.low, fresh}, what::combine, false);
      (*this)(at, {fresh, rows.high}, what::store, once);
    } else {
      (*this)(at, {b.emit(op::maximum, {until, rows.low}), rows.high}, what::fill, false);
      (*this)(at, rows, what::combine, false);
    }
  }

 private:
  node_id value_of(const stage& s, what act) {
    return act == what::fill ? identity_of(k_.g, monoid_of(k_.g, s.body), k_.g.type(s.body)) : k_.g.arg(s.body, 0);
  }
  // Rows innermost where they are all the same.
  std::vector<node_id> loops(what act) {
    const node_id j = s_.owned;
    bool differ = k_.g.free[t_.rest].has(k_.g.ordinal(j));
    for (const stage* s : stages_) differ = differ || k_.g.free[value_of(*s, act)].has(k_.g.ordinal(j));
    std::vector<node_id> list;
    for (const node_id idx : s_.indices)
      if (idx != j && idx != s_.vector) list.push_back(idx);
    if (s_.vector != no_node && s_.vector != j) list.push_back(s_.vector);
    list.insert(differ && s_.vector != no_node && s_.vector != j ? list.end() - 1 : list.end(), j);
    return list;
  }
  void nest(scope& at, const range& rows, what act, bool once, bool size_optimised) {
    open_loops nest(k_, at);
    for (const node_id idx : loops(act)) {
      const int lanes = idx == s_.vector ? s_.lanes : 1;
      nest.enter(idx, lanes, idx == s_.owned ? &rows : nullptr);
      if (size_optimised && lanes > 1) nest.inner->block->head().size_optimised = true;
    }
    if (act == what::combine && !lanes_decide(*nest.inner) && !is_true(k_.g, t_.rest))
      nest.enter(nest.inner->block->guard(k_.emit(t_.rest, *nest.inner)));
    for (const stage* s : stages_) statement(*s, act, once, *nest.inner);
    nest.close();
  }
  bool lanes_decide(const scope& at) const {
    return at.lane != no_node && k_.g.free[t_.rest].has(k_.g.ordinal(at.lane));
  }
  void statement(const stage& s, what act, bool once, scope& at) {
    graph& g = k_.g;
    node_id value = value_of(s, act);
    if (act != what::combine && based && s.base != no_node) {
      value = act == what::fill ? s.base : make(g, row(monoid_of(g, s.body)).combine, s.base, value);
    }
    if (act != what::combine) return k_.store(s, k_.emit(value, at), at, ir::none, once);
    const ir::value mask = lanes_decide(at) ? k_.emit(t_.rest, at) : ir::none;
    std::vector<node_id> subscripts;
    for (const node_id idx : s.indices) subscripts.push_back(k_.position_of(idx));
    const std::int32_t id = k_.buffers.at(s.define);
    std::vector<ir::value> list;
    const ir::access how = k_.subscripts_of(id, subscripts, at, list);
    const ir::value added = k_.emit(value, at);
    const ir::value old = at.block->load(id, g.type(s.body), list, how, mask);
    k_.store(s, at.block->emit(row(monoid_of(g, s.body)).combine, {old, added}), at, mask);
  }

  kernel_lowering& k_;
  const std::vector<const stage*>& stages_;
  const stage& s_;
  const plan::updated_rows& t_;
};

// Do slices have together hardly more rows than there are? Where lanes are rows, they also have to be long: of each
// whose stores are non-temporal, rows up to the first line are stored by themselves.
ir::value overlap_little(const lists_lowering& a, const stage& s, scope& at) {
  ir::block_builder& b = *at.block;
  const ir::value rows_in_all = a.at(b, b.emit(op::add, {a.chunks, a.chunks}));
  const ir::value rows = b.emit(op::sub, {a.stop, a.start}), some = b.emit(op::quotient, {rows, b.i64(8)});
  const ir::value little = b.emit(op::less_equal, {rows_in_all, b.emit(op::add, {rows, some})});
  if (s.vector != s.owned) return little;
  const ir::value slices = a.k.emit(plan::trips_of(a.k.g, a.l.slice), at);
  const ir::value least = b.emit(op::mul, {slices, b.i64(tuning::range_scatter::least_streamed * s.lanes)});
  return b.emit(op::logical_and, {little, b.emit(op::less_equal, {least, rows_in_all})});
}

}  // namespace

void kernel_lowering::range_scatter(scope& task, const range& own) {
  const stage& s = *stages.front();
  const plan::updated_rows t = plan::rows_of(g, s);
  lists_lowering a = lists_of(*this, s.slices, buffers.at(s.slices.array), task);
  row_writer write(*this, stages, t);
  const auto walk = [&](scope& at, bool once) {
    ir::block_builder& b = *at.block;
    // Tasks that take several chunks walk the slices of all of them, in the one order.
    const ir::value chunk = a.chunk_of(b, own.low);
    const ir::value last = s.task.most_tasks > 1 ? a.chunk_of(b, b.emit(op::sub, {own.high, b.i64(1)})) : chunk;
    const ir::value written = b.accumulator(element::i64, monoid::max, false);  // up to here, from own.low
    b.combine(written, own.low);
    scope slice(at,
                b.loop(ir::loop_kind::serial, index_text(s.slices.slice), a.at(b, chunk), a.at(b, a.ends(b, last))));
    slice.bind_to(g, s.slices.slice, a.at(*slice.block, a.order(*slice.block, slice.block->counter())));
    const range here = a.rows_within(slice, own);
    scope meets(slice, slice.block->guard(slice.block->emit(op::less, {here.low, here.high})));
    ir::block_builder& c = *meets.block;
    const auto shared = share_scratch_rows(here, meets);
    if (!shared) {
      write.slice(meets, here, c.read(written), once);
    } else {
      for (const bool sharing : {true, false}) {
        scope some(meets, c.guard(sharing ? *shared : c.emit(op::logical_not, {*shared})));
        scratch_rows.stored.clear();
        scratch_rows.sharing = sharing;
        write.slice(some, here, some.block->read(written), once);
        some.close();
      }
      scratch_rows.stored.clear();
    }
    c.combine(written, here.high);
    meets.close();
    slice.close();
    write(at, {b.read(written), own.high}, what::fill, once);
  };
  const auto walk_if = [&](scope& at, ir::value condition, bool once, bool based) {
    scope inner(at, at.block->guard(condition));
    write.based = based;
    walk(inner, once);
    inner.close();
  };
  const auto without_base = [&](scope& at) {
    write.based = false;
    bool large = is_true(g, t.rest) && !known.call().gpu;
    const double from = known.call().on.non_temporal_from();
    for (const stage* each : stages) large = large && ir::leaves_caches(buffer(buffers.at(each->define)), from);
    if (!large) return walk(at, false);
    // What is large has a loop of its own for slices that overlap little, whose rows may be stored past the caches.
    ir::block_builder& b = *at.block;
    const ir::value once = overlap_little(a, s, at);
    walk_if(at, once, true, false);
    walk_if(at, b.emit(op::logical_not, {once}), false, false);
  };
  if (s.base == no_node) return without_base(task);
  if (s.base_when == no_node) return walk(task, false);
  const ir::value based = emit(s.base_when, task);
  walk_if(task, based, false, true);
  scope plain(task, task.block->guard(task.block->emit(op::logical_not, {based})));
  without_base(plain);
  plain.close();
}

}  // namespace sheaf::inline v0_1::lower
