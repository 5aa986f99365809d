// The tables of a sweep (see `sweep_form`): those of blocks, in groups of `radix`; and spans of groups, by level. A
// fold has for each block what it comes to itself, with those before it in its group, and with those after it. A
// scatter has what slices add to the block and to those before it in its group: all of the group, or from where they
// began. The groups of level l stand in halves of 2^l of them: one of a left half has what it and those after it in
// the half come to, one of a right half what it and those before it come to. So any range of groups is two spans:
// those at its ends, at the level of the highest bit in which they differ. Level 0 holds the groups themselves.
#pragma once
#include <sheaf/jit/lower/lowering.hpp>

namespace sheaf::inline v0_1::lower {

class sweep_tables {
 public:
  sweep_tables(kernel_lowering& k, const stage& s, scope& columns, ir::value start)
      : k_(k), g_(k.g), s_(s), f_(s.sweep()), columns_(columns), start_(start) {}

 protected:
  enum : std::size_t { blocks = 0, spans = 1, seats = 2 };
  enum : std::int64_t { itself = 0, to_here = 1, from_here = 2 };  // tables of blocks
  using place = std::vector<ir::value>;

  void count_groups(ir::value block_count) {
    ir::block_builder& b = *columns_.block;
    levels_ = k_.emit(g_.arg(g_.arg(f_.tables[spans], 1), 1), columns_);
    count_ = block_count;
    groups_ = b.emit(op::quotient, {b.emit(op::add, {block_count, b.i64(f_.radix - 1)}), b.i64(f_.radix)});
  }

  ir::value cell(scope& at) { return at.block->accumulator(f_.type, f_.fold, true); }
  ir::value combined(ir::block_builder& b, ir::value x, ir::value y) { return b.emit(row(f_.fold).combine, {x, y}); }
  template <class Body>
  void where(scope& at, ir::value condition, Body&& body) {
    scope inner(at, at.block->guard(condition));
    body(inner);
    inner.close();
  }
  ir::value one_before(scope& at, ir::value x) { return at.block->emit(op::sub, {x, at.block->i64(1)}); }
  ir::value one_after(scope& at, ir::value x) { return at.block->emit(op::add, {x, at.block->i64(1)}); }

  place with_columns(scope& at, place entry) {
    entry.push_back(k_.emit(k_.position_of(s_.vector), at, true));
    return entry;
  }
  ir::value read_entry(scope& at, std::size_t table, const place& entry) {
    return at.block->load(k_.buffers.at(f_.tables[table]), f_.type, with_columns(at, entry), ir::access::contiguous);
  }
  void write_entry(scope& at, std::size_t table, const place& entry, ir::value x) {
    at.block->store(k_.buffers.at(f_.tables[table]), with_columns(at, entry), x, ir::access::contiguous);
  }
  void add_to_entry(scope& at, std::size_t table, const place& entry, ir::value x) {
    const ir::value old = read_entry(at, table, entry);
    write_entry(at, table, entry, combined(*at.block, old, x));
  }
  ir::value group_of(scope& at, ir::value block) {
    return at.block->emit(op::quotient, {block, at.block->i64(f_.radix)});
  }
  place of_block(scope& at, std::int64_t which, ir::value block) { return {at.block->i64(which), block}; }
  // body(scope, place) for the spans that groups [first, last] consist of: none, one or two.
  template <class Body>
  void each_span(scope& at, ir::value first, ir::value last, Body&& body) {
    ir::block_builder& b = *at.block;
    where(at, b.emit(op::equal, {first, last}), [&](scope& in) { body(in, place{in.block->i64(0), first}); });
    where(at, b.emit(op::less, {first, last}), [&](scope& in) {
      const ir::value level = level_of(in, first, last);
      body(in, place{level, first});
      body(in, place{level, last});
    });
  }
  // What blocks [from, to) come to: of one group, each; of several, the end of the first, groups, and the begin of the
  // last.
  void fold_blocks(scope& at, ir::value from, ir::value to, ir::value sum) {
    ir::block_builder& b = *at.block;
    const ir::value last = one_before(at, to), first_group = group_of(at, from), last_group = group_of(at, last);
    const ir::value several = b.emit(op::less, {first_group, last_group});
    where(at, several, [&](scope& in) {
      in.block->combine(sum, read_entry(in, blocks, of_block(in, from_here, from)));
      each_span(in, one_after(in, first_group), one_before(in, last_group),
                [&](scope& span, const place& entry) { span.block->combine(sum, read_entry(span, spans, entry)); });
      in.block->combine(sum, read_entry(in, blocks, of_block(in, to_here, last)));
    });
    where(at, b.emit(op::logical_not, {several}), [&](scope& in) {
      scope each(in, in.block->loop(ir::loop_kind::serial, "entry", from, to));
      each.block->combine(sum, read_entry(each, blocks, of_block(each, itself, each.block->counter())));
      each.close();
    });
  }
  // A slice that begins in the block before `from` adds to blocks [from, to). `onward`: what slices add to all that is
  // left of the group in which `from` is, of which two are kept.
  void scatter_to_blocks(scope& at, ir::value from, ir::value to, ir::value added, std::int32_t onward) {
    ir::block_builder& b = *at.block;
    const ir::value last = one_before(at, to), first_group = group_of(at, from), last_group = group_of(at, last);
    where(at, b.emit(op::less_equal, {from, last}),
          [&](scope& in) { add_to_entry(in, blocks, of_block(in, itself, last), added); });
    where(at, b.emit(op::less, {first_group, last_group}), [&](scope& in) {
      const place here = onward_at(in, first_group);
      ir::block_builder& c = *in.block;
      const ir::value old = c.load(onward, f_.type, here, ir::access::contiguous);
      c.store(onward, here, combined(c, old, added), ir::access::contiguous);
      each_span(in, one_after(in, first_group), one_before(in, last_group),
                [&](scope& span, const place& entry) { add_to_entry(span, spans, entry, added); });
    });
  }
  // In a row of lanes of the task's own.
  ir::value own_lane(scope& at) { return at.block->emit(op::sub, {k_.emit(s_.vector, at, true), start_}); }
  ir::value own_row(scope& at, ir::value which) {
    return at.block->emit(op::add, {at.block->emit(op::mul, {which, at.block->i64(s_.lanes)}), own_lane(at)});
  }
  place onward_at(scope& at, ir::value group) {
    return {own_row(at, at.block->emit(op::remainder, {group, at.block->i64(2)}))};
  }
  // What slices from before add to the block.
  void take_block(scope& at, ir::value group, ir::value sum, std::int32_t onward) {
    ir::block_builder& b = *at.block;
    const ir::value end = b.emit(op::mul, {one_after(at, group), b.i64(f_.radix)});
    scope each(at, b.loop(ir::loop_kind::serial, "entry", block_, b.emit(op::minimum, {end, count_})));
    each.block->combine(sum, read_entry(each, blocks, of_block(each, itself, each.block->counter())));
    each.close();
    b.combine(sum, b.load(onward, f_.type, onward_at(at, group), ir::access::contiguous));
    b.combine(sum, read_entry(at, spans, {b.i64(0), group}));
  }
  // The highest bit in which two groups differ: those of the plan's extents at once, others one by one.
  ir::value level_of(scope& at, ir::value low, ir::value high) {
    ir::block_builder& b = *at.block;
    const auto differ = [&](ir::block_builder& in, ir::value width) {
      const ir::value first = in.emit(op::quotient, {low, width}), last = in.emit(op::quotient, {high, width});
      return in.cast(element::i64, in.emit(op::not_equal, {first, last}));
    };
    ir::value level = b.i64(0);
    const std::int64_t planned = k_.known.value(k_.g.arg(g_.arg(f_.tables[spans], 1), 1)).value_or(1).typical();
    for (std::int64_t l = 1; l < planned; ++l) level = b.emit(op::add, {level, differ(b, b.i64(std::int64_t{1} << l))});
    const ir::value cell = b.accumulator(element::i64, monoid::sum, false);
    b.combine(cell, level);
    const ir::value width = b.accumulator(element::i64, monoid::prod, false);
    b.combine(width, b.i64(std::int64_t{1} << (planned - 1)));
    ir::block_builder rest = b.loop(ir::loop_kind::serial, "level", b.i64(planned), levels_);
    rest.combine(width, rest.i64(2));
    rest.combine(cell, differ(rest, rest.read(width)));
    rest.close();
    return b.read(cell);
  }
  // body(scope, level, first group of its half, is it a right half): the halves that a group is in.
  template <class Body>
  void each_half(scope& at, ir::value group, Body&& body) {
    const ir::value width = at.block->accumulator(element::i64, monoid::prod, false);
    scope inner(at, at.block->loop(ir::loop_kind::serial, "level", at.block->i64(1), levels_));
    ir::block_builder& b = *inner.block;
    b.combine(width, b.i64(2));
    const ir::value size = b.read(width), half = b.emit(op::quotient, {group, size});
    const ir::value right = b.emit(op::equal, {b.emit(op::remainder, {half, b.i64(2)}), b.i64(1)});
    body(inner, b.counter(), b.emit(op::mul, {half, size}), size, right);
    inner.close();
  }
  // Each of [low, high) with all after it, of what `from` has.
  void fold_back(scope& at, std::size_t table, ir::value from, ir::value to, ir::value low, ir::value high) {
    const ir::value sum = cell(at);
    scope inner(at, at.block->loop(ir::loop_kind::serial, "group", low, high));
    inner.block->head().backward = true;
    const ir::value one = inner.block->counter();
    inner.block->combine(sum, read_entry(inner, table, {from, one}));
    write_entry(inner, table, {to, one}, inner.block->read(sum));
    inner.close();
  }

  // What the block comes to, into the tables; with the last of a group, what ends with it.
  void keep(scope& at, ir::value total) {
    ir::block_builder& b = *at.block;
    const ir::value none = b.i64(0), radix = b.i64(f_.radix), group = b.emit(op::quotient, {block_, radix});
    write_entry(at, blocks, of_block(at, itself, block_), total);
    const ir::value group_start = b.emit(op::mul, {group, radix}), first = b.emit(op::equal, {group_start, block_});
    where(at, first, [&](scope& some) { write_entry(some, blocks, of_block(some, to_here, block_), total); });
    where(at, b.emit(op::logical_not, {first}), [&](scope& some) {
      const ir::value before = read_entry(some, blocks, of_block(some, to_here, one_before(some, block_)));
      write_entry(some, blocks, of_block(some, to_here, block_), combined(*some.block, before, total));
    });
    const ir::value next = one_after(at, block_), whole = b.emit(op::mul, {b.emit(op::quotient, {next, radix}), radix});
    where(at, b.emit(op::equal, {next, whole}), [&](scope& some) {
      fold_back(some, blocks, some.block->i64(itself), some.block->i64(from_here), group_start, next);
      const ir::value sum = read_entry(some, blocks, of_block(some, to_here, block_));
      write_entry(some, spans, {none, group}, sum);
      each_half(some, group, [&](scope& in, ir::value level, ir::value start, ir::value size, ir::value right) {
        ir::block_builder& c = *in.block;
        where(in, right, [&](scope& more) {
          const ir::value begun = more.block->emit(op::less, {start, group});
          where(more, begun, [&](scope& next_one) {
            const ir::value before = read_entry(next_one, spans, {level, one_before(next_one, group)});
            write_entry(next_one, spans, {level, group}, combined(*next_one.block, before, sum));
          });
          where(more, more.block->emit(op::logical_not, {begun}),
                [&](scope& first_one) { write_entry(first_one, spans, {level, group}, sum); });
        });
        const ir::value end = c.emit(op::add, {start, size});
        const ir::value full = c.emit(op::equal, {one_after(in, group), end});
        where(in, c.emit(op::logical_and, {c.emit(op::logical_not, {right}), full}),
              [&](scope& more) { fold_back(more, spans, none, level, start, end); });
      });
    });
  }
  void clear(std::int32_t onward) {
    const ir::value nothing = k_.emit(identity_of(g_, f_.fold, f_.type), columns_);
    const auto each = [&](scope& at, ir::value count, const char* name, const auto& body) {
      scope inner(at, at.block->loop(ir::loop_kind::serial, name, at.block->i64(0), count));
      body(inner, inner.block->counter());
      inner.close();
    };
    each(columns_, columns_.block->i64(2), "clear", [&](scope& in, ir::value group) {
      in.block->store(onward, onward_at(in, group), nothing, ir::access::contiguous);
    });
    each(columns_, count_, "clear",
         [&](scope& in, ir::value entry) { write_entry(in, blocks, of_block(in, itself, entry), nothing); });
    each(columns_, levels_, "level", [&](scope& in, ir::value level) {
      each(in, groups_, "clear",
           [&](scope& one, ir::value entry) { write_entry(one, spans, {level, entry}, nothing); });
    });
  }
  // With the first block of a group: what slices add to all of it. They began before, so it is known.
  void gather_spans(scope& at, ir::value group) {
    ir::block_builder& b = *at.block;
    const ir::value none = b.i64(0), whole = cell(at);
    b.combine(whole, read_entry(at, spans, {none, group}));
    each_half(at, group, [&](scope& in, ir::value level, ir::value start, ir::value size, ir::value right) {
      ir::block_builder& c = *in.block;
      const ir::value begun = c.emit(op::less, {start, group}), end = c.emit(op::add, {start, size});
      where(in, c.emit(op::logical_and, {right, c.emit(op::logical_not, {begun})}), [&](scope& more) {
        fold_back(more, spans, level, level, group, more.block->emit(op::minimum, {end, groups_}));
      });
      where(in, c.emit(op::logical_and, {begun, c.emit(op::logical_not, {right})}), [&](scope& more) {
        add_to_entry(more, spans, {level, group}, read_entry(more, spans, {level, one_before(more, group)}));
      });
      c.combine(whole, read_entry(in, spans, {level, group}));
    });
    write_entry(at, spans, {none, group}, b.read(whole));
  }

  kernel_lowering& k_;
  graph& g_;
  const stage& s_;
  const plan::sweep_form& f_;
  scope& columns_;
  const ir::value start_;       // of the task's columns
  ir::value block_ = ir::none;  // the one at hand

 private:
  ir::value levels_ = ir::none, groups_ = ir::none, count_ = ir::none;  // count_: of blocks
};

}  // namespace sheaf::inline v0_1::lower
