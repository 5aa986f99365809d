// The position of the extreme of a long row. Of each block the extreme alone is folded, which takes no positions;
// where it is beyond those before, as it is log(blocks) times for data in no order, the block is walked again for the
// first that equals it. Shown by tests/jit/extreme.cpp.
#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

using tuning::extremum::search_block;

}  // namespace

bool kernel_lowering::searches_blocks(node_id n, node_id lane, const scope& at) const {
  if (known.call().gpu || at.lane != no_node || lane == no_node || at.part_of(lane) != nullptr) return false;
  const node_id body = g.arg(n, 0);
  return row(monoid_of(g, n)).position && g[n].count == 3 && g.type(body) != element::boolean &&
         !plan::is_slow(g, body) && !plan::holds(g, body, op::reduce) && !plan::holds(g, g.arg(n, 1), op::reduce) &&
         known.trips(lane) >= 4 * search_block;
}

ir::value kernel_lowering::search_blocks(node_id n, node_id lane, scope& at) {
  note("position along " + index_text(lane) + ": of blocks of " + std::to_string(search_block) +
       " the extremum alone, walked again where it is beyond those before");
  const bool largest = monoid_of(g, n) == monoid::argmax;
  const node_id value = g.arg(n, 0), condition = g.arg(n, 1);
  const node_id body = cast_to(g, numerics::accumulated(g.type(value)), value);
  const element type = g.type(body);
  const monoid extreme = largest ? monoid::max : monoid::min;
  const int lanes = plan::lanes_for(g, known, n, lane, false);
  ir::block_builder& b = *at.block;
  const ir::value best = b.accumulator(type, extreme, false), found = b.accumulator(type, monoid_of(g, n), false);
  const ir::value low = emit(g.arg(lane, 0), at), high = emit(g.arg(lane, 1), at);
  const ir::value size = b.i64(search_block), length = b.emit(op::sub, {high, low});
  const ir::value more = b.emit(op::add, {length, b.i64(search_block - 1)}),
                  blocks = b.emit(op::quotient, {more, size});
  scope each(at, b.loop(ir::loop_kind::serial, index_text(lane) + "_block", b.i64(0), blocks));
  ir::block_builder& c = *each.block;
  const ir::value passed = c.emit(op::mul, {c.counter(), size}), first = c.emit(op::add, {low, passed});
  const ir::value end = c.emit(op::add, {first, size});
  const range part{first, c.emit(op::minimum, {end, high})};
  const auto walk = [&](scope& outer, auto&& iteration) {
    open_loops loops(*this, outer);
    loops.enter(lane, lanes, &part);
    iteration(*loops.inner);
    loops.close();
  };
  const ir::value folded = c.accumulator(type, extreme, true);
  walk(each, [&](scope& in) { combine_term(folded, n, {body, condition}, in); });
  const ir::value of_block = c.fold_lanes(folded), before = c.read(best);
  c.combine(best, of_block);
  // NaN is beyond every number, and nothing is beyond NaN.
  const ir::value no_further =
      largest ? c.emit(op::less_equal, {of_block, before}) : c.emit(op::less_equal, {before, of_block});
  ir::value beyond = c.emit(op::logical_not, {no_further});
  if (is_floating(type)) {
    const ir::value is_number = c.emit(op::equal, {before, before});
    beyond = c.emit(op::logical_and, {beyond, is_number});
  }
  const ir::value nothing = c.emit(op::less, {c.read(found), c.i64(0)});
  scope search(each, c.guard(c.emit(op::logical_or, {beyond, nothing})));
  const ir::value places = search.block->accumulator(element::i64, monoid::min, true);
  walk(search, [&](scope& in) {
    ir::block_builder& d = *in.block;
    const ir::value x = emit(body, in);
    ir::value here = d.emit(op::equal, {x, of_block});
    if (is_floating(type)) {
      const ir::value both = d.emit(op::equal, {x, x}), block_is_number = d.emit(op::equal, {of_block, of_block});
      const ir::value neither = d.emit(op::logical_not, {d.emit(op::logical_or, {both, block_is_number})});
      here = d.emit(op::logical_or, {here, neither});
    }
    if (!is_true(g, condition)) here = d.emit(op::logical_and, {here, emit(condition, in)});
    d.combine(places, emit(lane, in), here);
  });
  search.block->combine(found, of_block, ir::none, search.block->fold_lanes(places));
  search.close();
  each.close();
  return take_result(n, found, at, false);
}

}  // namespace sheaf::inline v0_1::lower
