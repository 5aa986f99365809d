// Sweeps: a task takes a few columns, in lanes, down all rows. See `sweep_form`.
#include <sheaf/jit/lower/sweep_endpoints.hpp>
#include <sheaf/jit/lower/sweep_tables.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

using namespace tuning::sweep;

class sweeper : sweep_tables {
 public:
  sweeper(kernel_lowering& k, const stage& s, scope& columns, ir::value start)
      : sweep_tables(k, s, columns, start),
        lists_(lists_of(k, f_, k.buffers.at(f_.endpoints), columns)),
        waiting_(f_.scatters ? own_rows("waiting", f_.type, f_.block) : -1),
        onward_(f_.scatters ? own_rows("onward", f_.type, 2) : -1),
        current_(f_.scatters ? own_rows("current", g_.type(s.define), 1) : -1) {}

  void operator()() {
    ir::block_builder& b = *columns_.block;
    const ir::value size = b.i64(f_.block), zero = b.i64(0);
    const ir::value count = b.emit(op::quotient, {b.emit(op::add, {lists_.rows, b.i64(f_.block - 1)}), size});
    count_groups(count);
    const ir::value column = k_.emit(g_.arg(s_.vector, 0), columns_);
    task_ = b.emit(op::quotient, {b.emit(op::sub, {start_, column}), b.i64(s_.lanes)});
    if (f_.scatters) clear(onward_);
    scope block(columns_, b.loop(ir::loop_kind::serial, "block", zero, count));
    ir::block_builder& c = *block.block;
    block_ = c.counter();
    first_ = c.emit(op::mul, {block_, size});
    last_ = c.emit(op::minimum, {c.emit(op::add, {first_, size}), lists_.rows});
    f_.scatters ? scatter(block) : fold(block);
    block.close();
    if (!f_.scatters) without_rows();
  }

 private:
  std::int32_t own_rows(const char* name, element type, std::int64_t rows) {
    return ir::add_local(k_.code, name, type, rows * s_.lanes);
  }
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
  void each_slice(scope& at, std::int64_t which, ir::value row, Body&& body) {
    ir::block_builder& b = *at.block;
    const ir::value list = b.i64(which);
    const ir::value from = lists_.at(b, list, row), next = b.emit(op::add, {row, b.i64(1)});
    scope inner(at, b.loop(ir::loop_kind::serial, which == begins ? "begins" : "ends", from, lists_.at(b, list, next)));
    ir::block_builder& c = *inner.block;
    prefetch_bounds(inner, list, which);
    inner.bind_to(g_, f_.slice, slice_at(c, list, c.counter()));
    body(inner);
    inner.close();
  }
  ir::value slice_at(ir::block_builder& b, ir::value list, ir::value position) {
    const ir::value place = lists_.place_of(b, position);
    return lists_.at(b, list, place);
  }
  // Going up a block as going down: the next block is the one after it.
  ir::value later(ir::block_builder& b, ir::value position, std::int64_t by) {
    const ir::value last = b.emit(op::sub, {lists_.count, b.i64(1)});
    return b.emit(op::minimum, {b.emit(op::add, {position, b.i64(by)}), last});
  }
  // Slices lie anywhere: what later ones read is prefetched.
  template <class Body>
  void with_later(scope& at, ir::value list, ir::value position, std::int64_t by, Body&& body) {
    scope ahead(at, at.block->guard(always(at)));
    ir::block_builder& b = *ahead.block;
    ahead.bind_to(g_, f_.slice, slice_at(b, list, later(b, position, by)));
    body(ahead);
    ahead.close();
  }
  void prefetch_bounds(scope& at, ir::value list, std::int64_t which) {
    with_later(at, list, at.block->counter(), bounds_ahead, [&](scope& ahead) {
      for (const node_id bound : {f_.low, f_.high})
        plan::for_each_node(g_, bound, [&](node_id n) { prefetch(n, ahead, ir::access::uniform); });
      if (which == ends) prefetch_endpoint(ahead, lists_.place_of_slice(*ahead.block, k_.emit(f_.slice, ahead)));
    });
  }
  void prefetch_values(scope& at, std::int64_t which, ir::value position) {
    with_later(at, at.block->i64(which), position, slices_ahead, [&](scope& ahead) {
      plan::for_each_node(g_, f_.value, [&](node_id n) {
        if (g_.free[n].has(g_.ordinal(at.lane))) prefetch(n, ahead);
      });
    });
  }
  // Where slices that end soon have left their first parts.
  void prefetch_results(scope& at, ir::value position) {
    const std::int32_t id = k_.buffers.at(s_.define);
    if (!k_.buffer(id).unit_inner) return;
    with_later(at, at.block->i64(ends), position, slices_ahead, [&](scope& ahead) {
      std::vector<ir::value> list;
      k_.subscripts_of(id, k_.place_in(s_), ahead, list);
      ahead.block->prefetch_l2(id, std::move(list));
    });
  }
  // A scope of its own, whose names end with it.
  ir::value always(scope& at) { return at.block->constant(element::boolean, 1); }
  void prefetch_endpoint(scope& at, ir::value place) {
    at.block->prefetch(lists_.array, {at.block->i64(begins), place}, ir::access::uniform);
  }
  void prefetch(node_id n, scope& at, ir::access how = ir::access::contiguous) {
    if (g_.kind(n) != op::load || g_.kind(g_.arg(n, 0)) != op::input || g_[n].count < 2) return;
    const std::int32_t id = k_.buffers.at(g_.arg(n, 0));
    if (!k_.buffer(id).unit_inner) return;
    std::vector<ir::value> list;
    for (int d = 1; d < g_[n].count; ++d) {
      if (plan::holds(g_, g_.arg(n, d), op::load)) return;
      list.push_back(k_.emit(g_.arg(n, d), at, true));
    }
    if (how == ir::access::contiguous)
      at.block->prefetch_l2(id, std::move(list));
    else
      at.block->prefetch(id, std::move(list), how);
  }
  void prefetch_rows(scope& at) {
    plan::replacement put(g_);
    put.add(f_.rows, make(g_, op::add, f_.rows, integer(g_, rows_ahead)));
    std::vector<node_id> loads;
    plan::for_each_node(g_, f_.value, [&](node_id n) {
      if (g_.kind(n) == op::load && g_.free[n].has(g_.ordinal(f_.rows)) && g_.free[n].has(g_.ordinal(at.lane)))
        loads.push_back(n);
    });
    for (const node_id n : loads) prefetch(put(n), at);
  }
  // A bound of the slice at hand. Those of slices that are kept are read anew: in the rows whatever they are.
  ir::value bound(scope& at, node_id n) {
    const ir::value x = k_.emit(n, at);
    if (!f_.promised) return x;
    return at.block->emit(op::minimum, {at.block->emit(op::maximum, {x, at.block->i64(0)}), lists_.rows});
  }
  ir::value block_of(scope& at, ir::value row) { return at.block->emit(op::quotient, {row, at.block->i64(f_.block)}); }

  // ---- seats

  ir::value position_of_slice(scope& at) {
    ir::block_builder& b = *at.block;
    return lists_.at(b, b.i64(begins), lists_.place_of_slice(b, k_.emit(f_.slice, at)));
  }
  // No slice that begins before the end of this one's last block has the same seat.
  ir::value has_seat(scope& at, ir::value position, ir::value last) {
    ir::block_builder& b = *at.block;
    const ir::value end = b.emit(op::mul, {one_after(at, last), b.i64(f_.block)});
    const ir::value begun = lists_.at(b, b.i64(begins), b.emit(op::minimum, {end, lists_.rows}));
    return b.emit(op::less_equal, {b.emit(op::sub, {begun, position}), b.i64(f_.ring)});
  }
  place seat_of(scope& at, ir::value position) {
    return {task_, at.block->emit(op::remainder, {position, at.block->i64(f_.ring)}), own_lane(at)};
  }
  ir::value read_seat(scope& at, ir::value position) {
    return at.block->load(k_.buffers.at(f_.tables[seats]), f_.type, seat_of(at, position), ir::access::contiguous);
  }
  void write_seat(scope& at, ir::value position, ir::value x) {
    at.block->store(k_.buffers.at(f_.tables[seats]), seat_of(at, position), x, ir::access::contiguous);
  }
  template <class Yes, class No>
  void either(scope& at, ir::value condition, Yes&& yes, No&& no) {
    where(at, condition, yes);
    where(at, at.block->emit(op::logical_not, {condition}), no);
  }

  // ---- folds

  void fold(scope& at) {
    const ir::value down = cell(at), up = cell(at);
    each_row(at, f_.rows, {first_, last_}, false, [&](scope& row) {
      prefetch_rows(row);
      add(row, down, f_.value);
      each_slice(row, ends, k_.emit(f_.rows, row), [&](scope& slice) { ended(slice, down); });
    });
    keep(at, at.block->read(down));
    each_row(at, f_.rows, {first_, last_}, true, [&](scope& row) {
      add(row, up, f_.value);
      each_slice(row, begins, k_.emit(f_.rows, row), [&](scope& slice) { begun(slice, up); });
    });
  }
  // The first part waits: in a seat, or where the result will be.
  void begun(scope& slice, ir::value up) {
    const ir::value position = slice.block->counter();
    const ir::value last = block_of(slice, one_before(slice, bound(slice, f_.high)));
    where(slice, slice.block->emit(op::not_equal, {last, block_}), [&](scope& some) {
      either(
          some, has_seat(some, position, last), [&](scope& in) { write_seat(in, position, in.block->read(up)); },
          [&](scope& in) { store(in, in.block->read(up)); });
    });
  }
  void ended(scope& slice, ir::value down) {
    ir::block_builder& b = *slice.block;
    const ir::value at = b.counter();
    const ir::value low = bound(slice, f_.low), high = bound(slice, f_.high), whole = cell(slice);
    const ir::value from = block_of(slice, low);
    either(
        slice, b.emit(op::equal, {from, block_}),
        [&](scope& some) {
          each_row(some, f_.walk, {low, high}, false, [&](scope& row) { add(row, whole, f_.again); });
        },
        [&](scope& some) {
          const ir::value position = position_of_slice(some);
          either(
              some, has_seat(some, position, block_),
              [&](scope& in) { in.block->combine(whole, read_seat(in, position)); },
              [&](scope& in) {
                prefetch_results(in, at);
                in.block->combine(whole, held(*in.block, stored(in)));
              });
          fold_blocks(some, one_after(some, from), block_, whole);
          some.block->combine(whole, some.block->read(down));
        });
    finish(slice, b.read(whole));
  }
  ir::value stored(scope& at) {
    std::vector<ir::value> list;
    const std::int32_t id = k_.buffers.at(s_.define);
    const ir::access how = k_.subscripts_of(id, k_.place_in(s_), at, list);
    return at.block->load(id, g_.type(s_.define), list, how);
  }
  void finish(scope& at, ir::value folded) {
    at.set(f_.result, folded);
    const node_id reduce = g_.kind(f_.result) == op::reduce ? f_.result : g_.arg(f_.result, 0);
    if (reduce != f_.result) at.set(reduce, at.block->cast(g_.type(reduce), folded));
    k_.store(s_, k_.emit(f_.finished, at), at, ir::none, true);
  }
  // It is read again when so many others have been stored that no cache would have kept it.
  void store(scope& at, ir::value x) { k_.store(s_, as_stored(*at.block, x), at, ir::none, true); }
  ir::value as_stored(ir::block_builder& b, ir::value x) {
    return b.type_of(x) == g_.type(s_.define) ? x : b.cast(g_.type(s_.define), x);
  }
  void without_rows() {
    each_slice(columns_, begins, lists_.rows,
               [&](scope& slice) { finish(slice, k_.emit(identity_of(g_, f_.fold, f_.type), slice)); });
  }

  // ---- scatters

  // `waiting` has what slices from before the block add to a row, in the place of the last row not after it at which
  // that changes, or at which a slice begins: slices that stay in the block are added to the places of their rows.
  // `current` has the result of a row, which the next one shares if nothing changes there.
  void scatter(scope& at) {
    const ir::value ending = cell(at), begun = cell(at);  // begun: what covers the block, too
    const ir::value group = group_of(at, block_);
    start_of_group(at, group);
    take_block(at, group, begun, onward_);
    each_row(at, f_.rows, {first_, last_}, true, [&](scope& row) {
      const ir::value t = k_.emit(f_.rows, row);
      each_slice(row, ends, t, [&](scope& slice) { ended_scatter(slice, ending); });
      where(row, changes(row, t), [&](scope& some) {
        some.block->store(waiting_, waiting_at(some, t), some.block->read(ending), ir::access::contiguous);
      });
    });
    each_row(at, f_.rows, {first_, last_}, false, [&](scope& row) {
      const ir::value t = k_.emit(f_.rows, row);
      where(row, changes(row, t), [&](scope& some) {
        each_slice(some, begins, t, [&](scope& slice) { begin(slice, t, begun); });
        ir::block_builder& b = *some.block;
        const ir::value waiting = b.load(waiting_, f_.type, waiting_at(some, t), ir::access::contiguous);
        b.store(current_, {own_lane(some)}, as_stored(b, combined(b, b.read(begun), waiting)), ir::access::contiguous);
      });
      const ir::value all = row.block->load(current_, g_.type(s_.define), {own_lane(row)}, ir::access::contiguous);
      k_.store(s_, all, row, ir::none, true);
    });
  }
  void start_of_group(scope& at, ir::value group) {
    const ir::value start = at.block->emit(op::mul, {group, at.block->i64(f_.radix)});
    where(at, at.block->emit(op::equal, {start, block_}), [&](scope& some) {
      gather_spans(some, group);
      const ir::value nothing = k_.emit(identity_of(g_, f_.fold, f_.type), some);
      some.block->store(onward_, onward_at(some, one_after(some, group)), nothing, ir::access::contiguous);
    });
  }
  place waiting_at(scope& at, ir::value row) { return {own_row(at, at.block->emit(op::sub, {row, first_}))}; }
  // Is it the first row of the block, does a slice begin with it, or did one end with the row before?
  ir::value changes(scope& at, ir::value row) {
    ir::block_builder& b = *at.block;
    const ir::value before = b.emit(op::maximum, {one_before(at, row), first_}), next = one_after(at, row);
    const auto differ = [&](std::int64_t which, ir::value low, ir::value high) {
      const ir::value from = lists_.at(b, b.i64(which), low), to = lists_.at(b, b.i64(which), high);
      return b.emit(op::not_equal, {from, to});
    };
    const ir::value ended = differ(ends, before, row), begins_here = differ(begins, row, next);
    const ir::value first = b.emit(op::equal, {row, first_});
    return b.emit(op::logical_or, {first, b.emit(op::logical_or, {ended, begins_here})});
  }
  void ended_scatter(scope& slice, ir::value ending) {
    const ir::value at = slice.block->counter();
    const ir::value before = slice.block->emit(op::less, {bound(slice, f_.low), first_});
    where(slice, before, [&](scope& some) {
      const ir::value position = position_of_slice(some);
      either(
          some, has_seat(some, position, block_),
          [&](scope& in) { in.block->combine(ending, read_seat(in, position)); },
          [&](scope& in) {
            prefetch_values(in, ends, at);
            add(in, ending, f_.value);
          });
    });
  }
  void begin(scope& slice, ir::value row, ir::value begun) {
    ir::block_builder& b = *slice.block;
    const ir::value position = b.counter();
    prefetch_values(slice, begins, position);
    const ir::value high = bound(slice, f_.high), last = block_of(slice, one_before(slice, high));
    const ir::value added = held(b, k_.emit(f_.value, slice));
    either(
        slice, b.emit(op::equal, {last, block_}),
        [&](scope& some) {
          scope inner(some, some.block->loop(ir::loop_kind::serial, "own", row, high));
          const place here = waiting_at(inner, inner.block->counter());
          const ir::value old = inner.block->load(waiting_, f_.type, here, ir::access::contiguous);
          inner.block->store(waiting_, here, combined(*inner.block, old, added), ir::access::contiguous);
          inner.close();
        },
        [&](scope& some) {
          some.block->combine(begun, added);
          where(some, has_seat(some, position, last), [&](scope& in) { write_seat(in, position, added); });
          scatter_to_blocks(some, one_after(some, block_), last, added, onward_);
        });
  }

  const endpoint_lists lists_;
  const std::int32_t waiting_, onward_, current_;
  ir::value task_ = ir::none;
  ir::value first_ = ir::none, last_ = ir::none;  // the rows of the block
};

}  // namespace

void kernel_lowering::sweep(const stage& s, scope& task, const range& columns) {
  scope inner(task, open(task, s.vector, s.lanes, &columns));
  bind(inner, s.vector, s.lanes);
  sweeper(*this, s, inner, columns.low)();
  inner.close();
}

}  // namespace sheaf::inline v0_1::lower
