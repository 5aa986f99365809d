#include <sheaf/jit/lower/window_fold.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

ir::value combined(ir::block_builder& b, monoid fold, ir::value first, ir::value second) {
  if (!is_own(fold)) return b.emit(row(fold).combine, {first, second});
  const ir::value cell = b.accumulator(b.type_of(first), fold, true);
  b.combine(cell, first);
  b.combine(cell, second);
  return b.read(cell);
}

folded shifted(ir::block_builder& c, folded cells, folded x) {
  const ir::value key = c.shift_lanes(cells.key, x.key);
  return {c.shift_lanes(cells.value, x.value), key};
}

}  // namespace

// Of two, what lies at the extremum of both counts. Keys are no NaN.
folded window_fold::joined(ir::block_builder& b, folded first, folded second) const {
  if (!tied) return {combined(b, fold, first.value, second.value)};
  const bool least = form.extremum == monoid::min;
  const ir::value up = b.emit(op::less_equal, {first.key, second.key});
  const ir::value down = b.emit(op::less_equal, {second.key, first.key});
  const ir::value zero = b.constant(b.type_of(first.value), 0);
  const ir::value key = b.emit(op::select, {least ? up : down, first.key, second.key});
  const ir::value begun = b.emit(op::select, {least ? up : down, first.value, zero});
  const ir::value both = b.emit(op::add, {begun, second.value});
  return {b.emit(op::select, {least ? down : up, both, begun}), key};
}

sliding_fold::sliding_fold(const window_fold& of, ir::block_builder& b, std::int64_t width) : of_(of), width_(width) {
  if (!of.tied) {
    slider_.value = b.slider(of.form.type, of.fold, static_cast<std::int32_t>(width));
    return;
  }
  for (std::int64_t part = 1; 2 * part <= width; part *= 2) steps_.push_back(cells(b, part));
  for (std::int64_t part = 1, done = 0; part <= width; part *= 2) {
    if (!(width & part)) continue;
    if (done > 0) steps_.push_back(cells(b, done));
    done += part;
  }
}

folded sliding_fold::cells(ir::block_builder& b, std::int64_t by) const {
  const auto lanes = static_cast<std::int32_t>(by);
  const ir::value key = b.slider(of_.form.key_type, of_.form.extremum, lanes);
  return {b.slider(of_.form.type, monoid::sum, lanes), key};
}

// Folds of 1, 2, 4, ... lanes, each from two of the one before; the width is put together from those, the smallest
// first: what is further away than a register needs less of the iteration before.
folded sliding_fold::operator()(ir::block_builder& c, folded x, bool backward) const {
  if (!of_.tied) return {c.slide_lanes(slider_.value, x.value)};
  const auto joined = [&](folded near, folded beyond) {
    return backward ? of_.joined(c, near, beyond) : of_.joined(c, beyond, near);
  };
  std::vector<folded> levels{x};
  std::size_t step = 0;
  for (std::int64_t part = 1; 2 * part <= width_; part *= 2)
    levels.push_back(joined(levels.back(), shifted(c, steps_[step++], levels.back())));
  std::optional<folded> result;
  for (std::size_t k = 0; k < levels.size(); ++k) {
    if (!(width_ >> k & 1)) continue;
    result = result ? joined(*result, shifted(c, steps_[step++], levels[k])) : levels[k];
  }
  return *result;
}

// The cells of ties are such that shift by a whole vector: what they keep is what the iteration before came to.
running_fold::running_fold(const window_fold& of, ir::block_builder& b) : of_(of) {
  if (!of.tied) {
    whole_.value = b.accumulator(of.form.type, of.fold, true);
    return;
  }
  whole_.key = b.slider(of.form.key_type, of.form.extremum, of.lanes);
  whole_.value = b.slider(of.form.type, monoid::sum, of.lanes);
}

ir::block_builder running_fold::stretches(ir::block_builder& b, const range& places) {
  size_ = b.i64(of_.form.stretch);
  const ir::value zero = b.i64(0);
  const ir::value room = b.emit(op::add, {b.emit(op::sub, {places.high, places.low}), b.i64(of_.form.stretch - 1)});
  return b.loop(ir::loop_kind::serial, "stretch", zero, b.emit(op::quotient, {room, size_}));
}

range running_fold::next(ir::block_builder& c, const range& places, bool backward) {
  part_ = c.accumulator(of_.form.type, of_.fold, true);
  const ir::value begun = c.emit(op::mul, {c.counter(), size_});
  const ir::value from = c.emit(backward ? op::sub : op::add, {backward ? places.high : places.low, begun});
  const ir::value to = backward ? c.emit(op::maximum, {c.emit(op::sub, {from, size_}), places.low})
                                : c.emit(op::minimum, {c.emit(op::add, {from, size_}), places.high});
  return backward ? range{to, from} : range{from, to};
}

// Folds a stretch into the whole between loops: of vectors that takes a loop of one iteration.
void running_fold::pass_on(ir::block_builder& c) const {
  const ir::value zero = c.i64(0), one_vector = c.i64(of_.lanes);
  ir::block_builder iteration = c.loop(ir::loop_kind::vector, "sums", zero, one_vector, of_.lanes);
  const ir::value part = iteration.read(part_);
  iteration.combine(whole_.value, part);
  iteration.close();
}

folded running_fold::with(ir::block_builder& c, folded x, bool backward) const {
  if (of_.tied) {
    const ir::value key = c.read(whole_.key), value = c.read(whole_.value);
    const folded before{value, key};
    const folded so_far = backward ? of_.joined(c, x, before) : of_.joined(c, before, x);
    shifted(c, whole_, so_far);
    return so_far;
  }
  if (of_.form.stretch == 0) {
    c.combine(whole_.value, x.value);
    return {c.read(whole_.value)};
  }
  c.combine(part_, x.value);
  const ir::value part = c.read(part_), whole = c.read(whole_.value);
  return {backward ? combined(c, of_.fold, part, whole) : combined(c, of_.fold, whole, part)};
}

}  // namespace sheaf::inline v0_1::lower
