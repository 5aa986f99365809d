// The slices of a sweep by the row they begin with, and by the row they end with.
#include <sheaf/jit/lower/sweep_endpoints.hpp>

namespace sheaf::inline v0_1::lower {

// A counting sort for begins, and one for ends.
void kernel_lowering::list_endpoints(const stage& s, scope& task) {
  const plan::sweep_form& f = s.sweep();
  const endpoint_lists a = lists_of(*this, f, buffers.at(s.define), task);
  ir::block_builder& b = *task.block;
  const ir::value which = emit(s.parallel, task), last = b.emit(op::equal, {which, b.i64(ends)});
  const ir::value zero = b.i64(0), one = b.i64(1);
  const ir::value places = b.emit(op::add, {a.rows, one});
  {
    ir::block_builder c = b.loop(ir::loop_kind::serial, "clear", zero, b.emit(op::add, {places, one}));
    a.put(c, which, c.counter(), zero);
    c.close();
  }
  // place: one after that of the slice's row, so that the positions end where they should begin.
  const auto each_slice = [&](const auto& body) {
    scope walk(task, open(task, f.slice, 1));
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
    const ir::value slice = emit(f.slice, in);
    a.put(c, which, a.place_of(c, position), slice);
    a.put(c, which, a.place_of_slice(c, slice), position);
    a.put(c, which, place, c.emit(op::add, {position, one}));
  });
}

}  // namespace sheaf::inline v0_1::lower
