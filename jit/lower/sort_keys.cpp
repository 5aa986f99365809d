// Keys in their order: three kernels. They are collected with their places, without NaN; tasks sort blocks of them, of
// which groups of a register count for each key those before it, and runs are merged; then blocks are merged. Of equal
// keys the first stays the first. Memory has room for all of them twice: runs go from one half to the other.
#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/tuning/ranges.hpp>

namespace sheaf::inline v0_1::lower {

using namespace tuning::ordered_keys;

namespace {

struct key_sorting {
  std::int32_t places, keys;
  element type;        // of a key
  ir::value room;      // of a half
  ir::loop_kind kind;  // of tasks
  shapes::amount cost;

  ir::value load_key(ir::block_builder& b, ir::value at, ir::access how = ir::access::uniform) const {
    return b.load(keys, type, {at}, how);
  }
  ir::value load_place(ir::block_builder& b, ir::value at, ir::access how = ir::access::uniform) const {
    return b.load(places, element::i64, {at}, how);
  }
  static ir::value add(ir::block_builder& b, ir::value x, ir::value y) { return b.emit(op::add, {x, y}); }
  static ir::value sub(ir::block_builder& b, ir::value x, ir::value y) { return b.emit(op::sub, {x, y}); }
  static ir::value least(ir::block_builder& b, ir::value x, ir::value y) { return b.emit(op::minimum, {x, y}); }
  static ir::value parts(ir::block_builder& b, ir::value count, ir::value size) {
    const ir::value one = b.i64(1), last = sub(b, size, one);
    return b.emit(op::quotient, {add(b, count, last), size});
  }
  ir::value numbers(ir::block_builder& b) const {
    const ir::value two = b.i64(2);
    return load_place(b, b.emit(op::mul, {room, two}));
  }
  // A half of the memory, of the pass after so many.
  ir::value half(ir::block_builder& b, ir::value pass, std::int64_t first) const {
    const ir::value from = b.i64(first), one = b.i64(1);
    return b.emit(op::mul, {room, b.emit(op::bit_and, {add(b, pass, from), one})});
  }

  // Each key of [low, high), no more than a register has lanes, to where those before it leave it in the other half.
  void sort_group(ir::block_builder& b, ir::value low, ir::value high) const {
    const ir::value zero = b.i64(0), count = sub(b, high, low);
    ir::block_builder v = b.loop(ir::loop_kind::vector, "key", zero, count, group);
    const ir::value lane = v.lanes(), at = add(v, low, v.counter());
    const ir::value own = load_key(v, at, ir::access::contiguous), place = load_place(v, at, ir::access::contiguous);
    const ir::value before = v.accumulator(element::i64, monoid::sum, true);
    ir::block_builder c = v.loop(ir::loop_kind::serial, "other", zero, count);
    const ir::value number = c.counter(), other = load_key(c, add(c, low, number));
    const ir::value is_before = c.emit(op::less, {number, lane}), not_after = c.emit(op::less_equal, {other, own});
    const ir::value less = c.emit(op::less, {other, own});
    c.combine(before, c.cast(element::i64, c.emit(op::select, {is_before, not_after, less})));
    c.close();
    const ir::value to = add(v, add(v, low, room), v.read(before));
    v.store(keys, {to}, own);
    v.store(places, {to}, place);
    v.close();
  }

  // Two sorted runs of one half, [low, middle) and [middle, high), into the other one.
  void merge(ir::block_builder& b, ir::value from, ir::value to, ir::value low, ir::value middle,
             ir::value high) const {
    const ir::value one = b.i64(1), last = sub(b, high, one);
    const ir::value taken = b.accumulator(element::i64, monoid::sum, false);  // of the first run
    ir::block_builder c = b.loop(ir::loop_kind::serial, "place", low, high);
    const ir::value at = c.counter(), left = add(c, low, c.read(taken));
    const ir::value right = sub(c, add(c, middle, at), left);
    const ir::value left_at = add(c, from, least(c, left, last)), right_at = add(c, from, least(c, right, last));
    const ir::value of_left = load_key(c, left_at), of_right = load_key(c, right_at);
    const ir::value some = c.emit(op::less, {left, middle}), none = c.emit(op::less_equal, {high, right});
    const ir::value first = c.emit(op::logical_not, {c.emit(op::less, {of_right, of_left})});
    const ir::value takes = c.emit(op::logical_and, {some, c.emit(op::logical_or, {none, first})});
    const ir::value place = load_place(c, c.emit(op::select, {takes, left_at, right_at}));
    const ir::value put = add(c, to, at);
    c.store(keys, {put}, c.emit(op::select, {takes, of_left, of_right}));
    c.store(places, {put}, place);
    c.combine(taken, c.cast(element::i64, takes));
    c.close();
  }

  // All runs of `size` in [low, high), two and two.
  void merge_runs(ir::block_builder& b, ir::value size, ir::value from, ir::value to, ir::value low,
                  ir::value high) const {
    const ir::value two = b.i64(2), both = b.emit(op::mul, {size, two});
    ir::block_builder c = b.loop(ir::loop_kind::serial, "pair", b.i64(0), parts(b, sub(b, high, low), both));
    const ir::value begin = add(c, low, c.emit(op::mul, {c.counter(), both}));
    const ir::value middle = least(c, add(c, begin, size), high);
    merge(c, from, to, begin, middle, least(c, add(c, middle, size), high));
    c.close();
  }

  void sort_blocks(ir::block_builder& top, ir::value when) const {
    const ir::value zero = top.i64(0), all = numbers(top), size = top.i64(block), each = top.i64(group);
    const ir::value blocks = parts(top, all, size);
    ir::block_builder b =
        top.loop(kind, "block", zero, when == ir::none ? blocks : top.emit(op::select, {when, blocks, zero}));
    b.head().cost = cost;
    const ir::value low = b.emit(op::mul, {b.counter(), size}), high = least(b, add(b, low, size), all);
    ir::block_builder c = b.loop(ir::loop_kind::serial, "group", zero, parts(b, sub(b, high, low), each));
    const ir::value begin = add(c, low, c.emit(op::mul, {c.counter(), each}));
    sort_group(c, begin, least(c, add(c, begin, each), high));
    c.close();
    ir::block_builder pass = b.loop(ir::loop_kind::serial, "pass", zero, b.i64(doublings));
    const ir::value runs = pass.emit(op::shift_left, {each, pass.counter()});
    const ir::value from = half(pass, pass.counter(), 1), to = half(pass, pass.counter(), 0);
    merge_runs(pass, runs, from, to, low, high);
    pass.close();
    b.close();
  }

  void merge_blocks(ir::block_builder& b) const {
    const ir::value zero = b.i64(0), one = b.i64(1), all = numbers(b), size = b.i64(block);
    const ir::value passes = b.accumulator(element::i64, monoid::sum, false);
    ir::block_builder pass = b.loop(ir::loop_kind::serial, "pass", zero, b.i64(most_doublings));
    const ir::value runs = pass.emit(op::shift_left, {size, pass.counter()});
    ir::block_builder some = pass.guard(pass.emit(op::less, {runs, all}));
    const ir::value from = half(some, pass.counter(), 0), to = half(some, pass.counter(), 1);
    merge_runs(some, runs, from, to, zero, all);
    some.combine(passes, one);
    some.close();
    pass.close();
    ir::block_builder odd = b.guard(b.emit(op::equal, {b.emit(op::bit_and, {b.read(passes), one}), one}));
    ir::block_builder copy = odd.loop(ir::loop_kind::vector, "place", zero, all, group);
    const ir::value to_place = copy.counter(), from_place = add(copy, room, to_place);
    copy.store(keys, {to_place}, load_key(copy, from_place, ir::access::contiguous), ir::access::contiguous);
    copy.store(places, {to_place}, load_place(copy, from_place, ir::access::contiguous), ir::access::contiguous);
    copy.close();
    odd.close();
  }
};

// What is a number, in the order of its places; behind them the first place, that what walks all reads one.
void collect(kernel_lowering& k, const key_sorting& a, const stage& s, scope& top) {
  ir::block_builder& b = *top.block;
  const node_id walk = s.sort.outer;
  const ir::value found = b.accumulator(element::i64, monoid::sum, false);
  open_loops loops(k, top);
  loops.enter(walk, 1);
  const ir::value key = k.emit(s.body, *loops.inner), place = k.emit(walk, *loops.inner);
  ir::block_builder& c = *loops.inner->block;
  const ir::value at = c.read(found);
  c.store(a.keys, {at}, key);
  c.store(a.places, {at}, place);
  const ir::value one = c.i64(1);
  c.combine(found, is_floating(a.type) ? c.cast(element::i64, c.emit(op::equal, {key, key})) : one);
  loops.close();
  const ir::value first = k.emit(k.g.arg(walk, 0), top), two = b.i64(2), count = b.read(found);
  ir::block_builder rest = b.loop(ir::loop_kind::serial, "rest", count, a.room);
  rest.store(a.places, {rest.counter()}, first);
  rest.close();
  b.store(a.places, {b.emit(op::mul, {a.room, two})}, count);
}

}  // namespace

void kernel_lowering::sort_keys(const plan::kernel_plan& k, const stage& s, scope& top) {
  const ir::value room = emit(s.sort.room, top), when = s.when == no_node ? ir::none : emit(s.when, top);
  const key_sorting a{buffers.at(s.define), buffers.at(s.sort.memory), g.type(s.body), room, kind_of_tasks(k),
                      cost_of_task(k)};
  if (k.part == 1) return a.sort_blocks(*top.block, when);
  std::optional<scope> inner;
  if (when != ir::none) inner.emplace(top, top.block->guard(when));
  scope& at = inner ? *inner : top;
  if (k.part == 0)
    collect(*this, a, s, at);
  else
    a.merge_blocks(*at.block);
  if (inner) inner->close();
}

}  // namespace sheaf::inline v0_1::lower
