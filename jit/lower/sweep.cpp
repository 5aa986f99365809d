// Sweeps: a piece takes a few columns, in lanes, down all rows. See `sweep_form`.
#include <sheaf/jit/lower/sweep_tables.hpp>

namespace sheaf::lower {

namespace {

using plan::sweep_form;

constexpr std::int64_t rows_ahead = 64;                       // of data that is read in order
constexpr std::int64_t slices_ahead = 12, bounds_ahead = 32;  // in the order of the events: rows, bounds
enum : std::int64_t { begins = 0, ends = 1 };

void bind_to(graph& g, scope& s, node_id idx, ir::value x) {
  s.bound.insert(g.ordinal(idx));
  s.values[2 * std::int64_t{idx}] = x;
}

// The array of events: positions by row, then slices.
struct event_lists {
  kernel_lowering& k;
  const sweep_form& f;
  std::int32_t array;
  ir::value rows, count;  // of rows; of slices

  ir::value at(ir::block_builder& b, ir::value which, ir::value place) const {
    return b.load(array, element::i64, {which, place});
  }
  void put(ir::block_builder& b, ir::value which, ir::value place, ir::value x) const {
    b.store(array, {which, place}, x);
  }
  ir::value place_of(ir::block_builder& b, ir::value position) const {
    const ir::value first = b.emit(op::add, {rows, b.i64(2)});
    return b.emit(op::add, {first, position});
  }
};

event_lists lists_of(kernel_lowering& k, const sweep_form& f, std::int32_t array, scope& s) {
  graph& g = k.g;
  const ir::value rows = k.emit(g.arg(f.rows, 1), s), zero = s.block->i64(0);
  const ir::value low = k.emit(g.arg(f.slice, 0), s), high = k.emit(g.arg(f.slice, 1), s);
  return {k, f, array, rows, s.block->emit(op::maximum, {s.block->emit(op::sub, {high, low}), zero})};
}

}  // namespace

// A counting sort for begins, and one for ends.
void kernel_lowering::list_events(const stage& s, scope& piece) {
  const sweep_form& f = s.sweep;
  const event_lists a = lists_of(*this, f, buffers.at(s.define), piece);
  ir::block_builder& b = *piece.block;
  const ir::value which = emit(s.parallel, piece), last = b.emit(op::equal, {which, b.i64(ends)});
  const ir::value zero = b.i64(0), one = b.i64(1);
  const ir::value places = b.emit(op::add, {a.rows, one});
  {
    ir::block_builder c = b.loop(ir::loop_kind::serial, "clear", zero, b.emit(op::add, {places, one}));
    a.put(c, which, c.counter(), zero);
    c.close();
  }
  // place: one after that of the slice's row, so that the positions end where they should begin.
  const auto each_slice = [&](const auto& body) {
    scope walk(piece, open(piece, f.slice, 1));
    bind(walk, f.slice, 1);
    ir::block_builder& c = *walk.block;
    const ir::value low = emit(f.low, walk), high = emit(f.high, walk);
    const ir::value row = c.emit(op::select, {last, c.emit(op::sub, {high, one}), low});
    const ir::value some = c.emit(op::less, {low, high});
    const ir::value place = c.emit(op::add, {c.emit(op::select, {some, row, a.rows}), one});
    body(walk, place, a.at(c, which, place));
    walk.close();
  };
  each_slice([&](scope& in, ir::value place, ir::value count) {
    a.put(*in.block, which, place, in.block->emit(op::add, {count, one}));
  });
  const ir::value before = b.accumulator(element::i64, monoid::sum, false);
  {
    ir::block_builder c = b.loop(ir::loop_kind::serial, "row", one, b.emit(op::add, {places, one}));
    const ir::value count = a.at(c, which, c.counter());
    a.put(c, which, c.counter(), c.read(before));
    c.combine(before, count);
    c.close();
  }
  each_slice([&](scope& in, ir::value place, ir::value position) {
    ir::block_builder& c = *in.block;
    a.put(c, which, a.place_of(c, position), emit(f.slice, in));
    a.put(c, which, place, c.emit(op::add, {position, one}));
  });
}

namespace {

class sweeper : sweep_tables {
 public:
  sweeper(kernel_lowering& k, const stage& s, scope& columns, ir::value start)
      : sweep_tables(k, s, columns), start_(start), lists_(lists_of(k, f_, k.buffers.at(f_.events), columns)) {}

  void operator()() {
    ir::block_builder& b = *columns_.block;
    const ir::value size = b.i64(f_.block), zero = b.i64(0);
    const ir::value count = b.emit(op::quotient, {b.emit(op::add, {lists_.rows, b.i64(f_.block - 1)}), size});
    count_groups(count);
    if (f_.spreads) clear(count);
    scope block(columns_, b.loop(ir::loop_kind::serial, "block", zero, count));
    ir::block_builder& c = *block.block;
    block_ = c.counter();
    first_ = c.emit(op::mul, {block_, size});
    last_ = c.emit(op::minimum, {c.emit(op::add, {first_, size}), lists_.rows});
    f_.spreads ? spread(block) : fold(block);
    block.close();
    if (!f_.spreads) without_rows();
  }

 private:
  ir::value held(ir::block_builder& b, ir::value x) { return b.type_of(x) == f_.type ? x : b.cast(f_.type, x); }
  void add(scope& at, ir::value cell, node_id value) { at.block->combine(cell, held(*at.block, k_.emit(value, at))); }

  // ---- rows and slices

  template <class Body>
  void each_row(scope& at, node_id idx, const range& rows, bool backward, Body&& body) {
    scope inner(at, k_.open(at, idx, 1, &rows));
    inner.block->head().backward = backward;
    k_.bind(inner, idx, 1);
    body(inner);
    inner.close();
  }
  // body(scope): the slices that begin or end with a row.
  template <class Body>
  void each_slice(scope& at, std::int64_t which, ir::value row, node_id rows_of, bool stored, Body&& body) {
    ir::block_builder& b = *at.block;
    const ir::value list = b.i64(which);
    const ir::value from = lists_.at(b, list, row), next = b.emit(op::add, {row, b.i64(1)});
    scope inner(at, b.loop(ir::loop_kind::serial, which == begins ? "begins" : "ends", from, lists_.at(b, list, next)));
    ir::block_builder& c = *inner.block;
    const bool down = which == (f_.spreads ? begins : ends);
    if (rows_of != no_node || stored) ask(inner, c.counter(), list, down, rows_of, stored);
    bind_to(g_, inner, f_.slice, slice_at(c, list, c.counter()));
    body(inner);
    inner.close();
  }
  ir::value slice_at(ir::block_builder& b, ir::value list, ir::value position) {
    const ir::value place = lists_.place_of(b, position);
    return lists_.at(b, list, place);
  }
  ir::value later(ir::block_builder& b, ir::value position, bool down, std::int64_t by) {
    if (!down) return b.emit(op::maximum, {b.emit(op::sub, {position, b.i64(by)}), b.i64(0)});
    const ir::value last = b.emit(op::sub, {lists_.count, b.i64(1)});
    return b.emit(op::minimum, {b.emit(op::add, {position, b.i64(by)}), last});
  }
  // Slices lie anywhere: what later ones read is asked for.
  void ask(scope& at, ir::value position, ir::value list, bool down, node_id value, bool stored) {
    for (const bool bounds : {false, true}) {
      scope ahead(at, at.block->guard(always(at)));
      ir::block_builder& b = *ahead.block;
      bind_to(g_, ahead, f_.slice, slice_at(b, list, later(b, position, down, bounds ? bounds_ahead : slices_ahead)));
      if (bounds) {
        for (const node_id bound : {f_.low, f_.high})
          plan::for_each_node(g_, bound, [&](node_id n) { ask_for(n, ahead); });
      } else if (stored) {
        std::vector<ir::value> list_of;
        k_.subscripts_of(k_.buffers.at(s_.define), k_.place_in(s_), ahead, list_of);
        if (k_.buffer(k_.buffers.at(s_.define)).unit_inner) b.prefetch(k_.buffers.at(s_.define), std::move(list_of));
      } else {
        plan::for_each_node(g_, value, [&](node_id n) {
          if (g_.free[n].has(g_.ordinal(at.lane))) ask_for(n, ahead);
        });
      }
      ahead.close();
    }
  }
  // A scope of its own, whose names end with it.
  ir::value always(scope& at) { return at.block->constant(element::boolean, 1); }
  void ask_for(node_id n, scope& at) {
    if (g_.kind(n) != op::load || g_.kind(g_.arg(n, 0)) != op::input || g_[n].count < 2) return;
    const std::int32_t id = k_.buffers.at(g_.arg(n, 0));
    if (!k_.buffer(id).unit_inner) return;
    std::vector<ir::value> list;
    for (int d = 1; d < g_[n].count; ++d) {
      if (plan::holds(g_, g_.arg(n, d), op::load)) return;
      list.push_back(k_.emit(g_.arg(n, d), at, true));
    }
    at.block->prefetch(id, std::move(list));
  }
  void ask_for_rows(scope& at) {
    plan::replacement put(g_);
    put.add(f_.rows, make(g_, op::add, f_.rows, integer(g_, rows_ahead)));
    std::vector<node_id> loads;
    plan::for_each_node(g_, f_.value, [&](node_id n) {
      if (g_.kind(n) == op::load && g_.free[n].has(g_.ordinal(f_.rows)) && g_.free[n].has(g_.ordinal(at.lane)))
        loads.push_back(n);
    });
    for (const node_id n : loads) ask_for(put(n), at);
  }
  // A bound of the slice at hand. Those of slices that are kept are read anew: in the rows whatever they are.
  ir::value bound(scope& at, node_id n) {
    const ir::value x = k_.emit(n, at);
    if (!f_.kept) return x;
    return at.block->emit(op::minimum, {at.block->emit(op::maximum, {x, at.block->i64(0)}), lists_.rows});
  }
  ir::value block_of(scope& at, ir::value row) { return at.block->emit(op::quotient, {row, at.block->i64(f_.block)}); }

  // ---- folds

  void fold(scope& at) {
    const ir::value down = cell(at), up = cell(at);
    each_row(at, f_.rows, {first_, last_}, false, [&](scope& row) {
      ask_for_rows(row);
      add(row, down, f_.value);
      each_slice(row, ends, k_.emit(f_.rows, row), no_node, true, [&](scope& slice) { ended(slice, down); });
    });
    keep(at, at.block->read(down));
    each_row(at, f_.rows, {first_, last_}, true, [&](scope& row) {
      add(row, up, f_.value);
      each_slice(row, begins, k_.emit(f_.rows, row), no_node, true, [&](scope& slice) {
        const ir::value last = block_of(slice, one_before(slice, bound(slice, f_.high)));
        where(slice, slice.block->emit(op::not_equal, {last, block_}),
              [&](scope& some) { store(some, some.block->read(up)); });
      });
    });
  }
  // The first part waits where the result will be.
  void ended(scope& slice, ir::value down) {
    ir::block_builder& b = *slice.block;
    const ir::value low = bound(slice, f_.low), high = bound(slice, f_.high), whole = cell(slice);
    const ir::value from = block_of(slice, low);
    const ir::value within = b.emit(op::equal, {from, block_});
    where(slice, within, [&](scope& some) {
      each_row(some, f_.walk, {low, high}, false, [&](scope& row) { add(row, whole, f_.again); });
    });
    where(slice, b.emit(op::logical_not, {within}), [&](scope& some) {
      ir::block_builder& c = *some.block;
      std::vector<ir::value> list;
      const std::int32_t id = k_.buffers.at(s_.define);
      const ir::access how = k_.subscripts_of(id, k_.place_in(s_), some, list);
      c.combine(whole, held(c, c.load(id, g_.type(s_.define), list, how)));
      each_entry(some, one_after(some, from), block_, [&](scope& in, std::size_t table, const place& entry) {
        in.block->combine(whole, read_entry(in, table, entry));
      });
      c.combine(whole, c.read(down));
    });
    finish(slice, b.read(whole));
  }
  void finish(scope& at, ir::value folded) {
    at.values[2 * std::int64_t{f_.result}] = folded;
    const node_id reduce = g_.kind(f_.result) == op::reduce ? f_.result : g_.arg(f_.result, 0);
    if (reduce != f_.result) at.values[2 * std::int64_t{reduce}] = at.block->cast(g_.type(reduce), folded);
    k_.store(s_, k_.emit(f_.finished, at), at);
  }
  void store(scope& at, ir::value x) {
    ir::block_builder& b = *at.block;
    k_.store(s_, b.type_of(x) == g_.type(s_.define) ? x : b.cast(g_.type(s_.define), x), at);
  }
  void without_rows() {
    each_slice(columns_, begins, lists_.rows, no_node, false,
               [&](scope& slice) { finish(slice, k_.emit(identity_of(g_, f_.fold, f_.type), slice)); });
  }

  // ---- spreads

  // What slices from before add to each row, in a row of the piece's own.
  ir::value waiting_at(scope& at, ir::value row) {
    ir::block_builder& b = *at.block;
    const ir::value own = b.emit(op::mul, {b.emit(op::sub, {row, first_}), b.i64(s_.lanes)});
    return b.emit(op::add, {own, b.emit(op::sub, {k_.emit(s_.vector, at, true), start_})});
  }
  void spread(scope& at) {
    if (waiting_ < 0)
      waiting_ = ir::add_buffer(k_.code, {.name = "waiting",
                                          .type = f_.type,
                                          .rank = 1,
                                          .where = ir::role::local,
                                          .elements = f_.block * s_.lanes,
                                          .unit_inner = true,
                                          .extents = {f_.block * s_.lanes}});
    const ir::value ending = cell(at), begun = cell(at);  // begun: what covers the block, too
    ir::block_builder& c = *at.block;
    const ir::value group = c.emit(op::quotient, {block_, c.i64(f_.radix)});
    const ir::value first = c.emit(op::equal, {c.emit(op::mul, {group, c.i64(f_.radix)}), block_});
    where(at, first, [&](scope& some) { gather_spans(some, group); });
    c.combine(begun, read_entry(at, blocks, {block_}));
    c.combine(begun, read_entry(at, spans, {c.i64(0), group}));
    each_row(at, f_.rows, {first_, last_}, true, [&](scope& row) {
      const ir::value t = k_.emit(f_.rows, row);
      each_slice(row, ends, t, f_.value, false, [&](scope& slice) {
        const ir::value before = slice.block->emit(op::less, {bound(slice, f_.low), first_});
        where(slice, before, [&](scope& some) { add(some, ending, f_.value); });
      });
      row.block->store(waiting_, {waiting_at(row, t)}, row.block->read(ending), ir::access::contiguous);
    });
    const bool stream = k_.is_large(s_);
    each_row(at, f_.rows, {first_, last_}, false, [&](scope& row) {
      const ir::value t = k_.emit(f_.rows, row);
      each_slice(row, begins, t, f_.value, false, [&](scope& slice) { begin(slice, t, begun); });
      ir::block_builder& b = *row.block;
      const ir::value waiting = b.load(waiting_, f_.type, {waiting_at(row, t)}, ir::access::contiguous);
      const ir::value all = combined(b, b.read(begun), waiting);
      k_.store(s_, f_.type == g_.type(s_.define) ? all : b.cast(g_.type(s_.define), all), row, ir::none, stream);
    });
  }
  void begin(scope& slice, ir::value row, ir::value begun) {
    ir::block_builder& b = *slice.block;
    const ir::value high = bound(slice, f_.high), last = block_of(slice, one_before(slice, high));
    const ir::value added = held(b, k_.emit(f_.value, slice)), within = b.emit(op::equal, {last, block_});
    where(slice, within, [&](scope& some) {
      scope inner(some, some.block->loop(ir::loop_kind::serial, "own", row, high));
      const ir::value place = waiting_at(inner, inner.block->counter());
      const ir::value old = inner.block->load(waiting_, f_.type, {place}, ir::access::contiguous);
      inner.block->store(waiting_, {place}, combined(*inner.block, old, added), ir::access::contiguous);
      inner.close();
    });
    where(slice, b.emit(op::logical_not, {within}), [&](scope& some) {
      some.block->combine(begun, added);
      each_entry(some, one_after(some, block_), last,
                 [&](scope& in, std::size_t table, const place& entry) { add_to_entry(in, table, entry, added); });
    });
  }

  const ir::value start_;  // of the columns
  const event_lists lists_;
  ir::value first_ = ir::none, last_ = ir::none;  // the rows of the block
  std::int32_t waiting_ = -1;
};

}  // namespace

void kernel_lowering::sweep(const stage& s, scope& piece, const range& columns) {
  scope inner(piece, open(piece, s.vector, s.lanes, &columns));
  bind(inner, s.vector, s.lanes);
  sweeper(*this, s, inner, columns.low)();
  inner.close();
}

}  // namespace sheaf::lower
