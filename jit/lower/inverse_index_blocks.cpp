// The list of a scatter's updates made by tasks, each of a block of the outermost index: they count, one adds up where
// each begins, they place. It is the list that one walk makes. See inverse_index.cpp.
#include <sheaf/jit/lower/inverse_index.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

using namespace tuning::inverse_index;

namespace {

class list_of_blocks {
 public:
  list_of_blocks(inverse_index_lowering& a, ir::loop_kind kind, const shapes::amount& cost)
      : a_(a), kind_(kind), cost_(cost) {}

  void count(scope& top, node_id when) {
    tasks(top, task_count(top, when), [&](scope& task, ir::value first, const range& own) {
      each_count(task, [&](ir::block_builder& c, ir::value chunk) {
        c.store(a_.array, {c.emit(op::add, {first, chunk})}, c.i64(0), ir::access::contiguous);
      });
      each_update(a_, task, [&](scope& in, ir::value chunk) {
        ir::block_builder& c = *in.block;
        const ir::value place = c.emit(op::add, {first, chunk});
        a_.put(c, place, a_.next(c, a_.at(c, place)));
      }, &own);
    });
  }

  // Of each chunk how many updates blocks before have, then where the chunk ends.
  void positions(scope& at) {
    ir::block_builder& b = *at.block;
    const ir::value zero = b.i64(0), one = b.i64(1), end = a_.count(b);
    ir::block_builder clear = b.loop(ir::loop_kind::vector, "clear", zero, end, lanes_of_counts);
    clear.store(a_.array, {clear.counter()}, clear.i64(0), ir::access::contiguous);
    clear.close();
    scope block(at, b.loop(ir::loop_kind::serial, "block", zero, b.i64(a_.l.blocks)));
    const ir::value first = first_count(*block.block, block.block->counter());
    each_count(block, [&](ir::block_builder& c, ir::value chunk) {
      const ir::value place = c.emit(op::add, {first, chunk}), all = a_.next(c, chunk);
      const ir::value before = c.load(a_.array, element::i64, {all}, ir::access::contiguous);
      const ir::value own = c.load(a_.array, element::i64, {place}, ir::access::contiguous);
      c.store(a_.array, {place}, before, ir::access::contiguous);
      c.store(a_.array, {all}, c.emit(op::add, {before, own}), ir::access::contiguous);
    });
    block.close();
    const ir::value sum = b.accumulator(element::i64, monoid::sum, false);
    ir::block_builder ends = b.loop(ir::loop_kind::vector, "chunk", one, end, lanes_of_counts);
    const ir::value own = ends.load(a_.array, element::i64, {ends.counter()}, ir::access::contiguous);
    ends.store(a_.array, {ends.counter()}, ends.scan_lanes(sum, own), ir::access::contiguous);
    ends.close();
    a_.put(b, end, b.read(sum));
  }

  void place(scope& top, node_id when) {
    ir::block_builder& b = *top.block;
    const ir::value fits = b.emit(op::less_equal, {a_.at(b, a_.count(b)), a_.room});
    const ir::value blocks = b.emit(op::select, {fits, task_count(top, when), b.i64(0)});
    tasks(top, blocks, [&](scope& task, ir::value first, const range& own) {
      each_count(task, [&](ir::block_builder& c, ir::value chunk) {
        const ir::value place = c.emit(op::add, {first, chunk});
        const ir::value before = c.load(a_.array, element::i64, {place}, ir::access::contiguous);
        const ir::value start = c.load(a_.array, element::i64, {chunk}, ir::access::contiguous);
        c.store(a_.array, {place}, c.emit(op::add, {before, start}), ir::access::contiguous);
      });
      each_update(a_, task, [&](scope& in, ir::value chunk) {
        ir::block_builder& c = *in.block;
        const ir::value place = c.emit(op::add, {first, chunk}), position = a_.at(c, place);
        for (std::size_t p = 0; p < a_.l.named.size(); ++p)
          a_.put(c, a_.plane(c, p, position), a_.k.emit(a_.l.named[p], in));
        a_.put(c, place, a_.next(c, position));
      }, &own);
    });
  }

 private:
  ir::value task_count(scope& top, node_id when) {
    const node_id blocks = integer(a_.k.g, a_.l.blocks);
    return a_.k.emit(when == no_node ? blocks : make(a_.k.g, op::select, when, blocks, integer(a_.k.g, 0)), top);
  }
  // Behind the planes.
  ir::value first_count(ir::block_builder& b, ir::value block) const {
    const ir::value counts = a_.plane(b, a_.l.named.size() + 1, b.i64(0));
    return b.emit(op::add, {counts, b.emit(op::mul, {block, a_.chunks})});
  }
  template <class Body>
  void each_count(scope& at, Body&& body) {
    ir::block_builder& b = *at.block;
    ir::block_builder c = b.loop(ir::loop_kind::vector, "chunk", b.i64(0), a_.chunks, lanes_of_counts);
    body(c, c.counter());
    c.close();
  }
  // body(scope, place of the block's first count, its iterations)
  template <class Body>
  void tasks(scope& top, ir::value count, Body&& body) {
    ir::block_builder& b = *top.block;
    const node_id idx = a_.l.walk.front();
    const ir::value low = a_.k.emit(a_.k.g.arg(idx, 0), top), high = a_.k.emit(a_.k.g.arg(idx, 1), top);
    const ir::value blocks = b.i64(a_.l.blocks), zero = b.i64(0);
    const ir::value all = b.emit(op::maximum, {b.emit(op::sub, {high, low}), zero});
    scope task(top, b.loop(kind_, "block", zero, count));
    task.block->head().cost = cost_;
    ir::block_builder& c = *task.block;
    const ir::value block = c.counter();
    const auto begin = [&](ir::value of) {
      return c.emit(op::add, {low, c.emit(op::quotient, {c.emit(op::mul, {all, of}), blocks})});
    };
    const ir::value from = begin(block);
    body(task, first_count(c, block), range{from, begin(a_.next(c, block))});
    task.close();
  }

  inverse_index_lowering& a_;
  const ir::loop_kind kind_;  // of tasks
  const shapes::amount cost_;
};

}  // namespace

void kernel_lowering::list_in_blocks(const plan::kernel_plan& k, const stage& s, scope& top) {
  inverse_index_lowering a = inverse_index_of(*this, s.inverse, buffers.at(s.define), top);
  list_of_blocks list(a, kind_of_tasks(k), cost_of_task(k) / static_cast<double>(s.inverse.blocks));
  if (k.part == 0) return list.count(top, s.when);
  if (k.part == 2) return list.place(top, s.when);
  if (s.when == no_node) return list.positions(top);
  scope inner(top, top.block->guard(emit(s.when, top)));
  list.positions(inner);
  inner.close();
}

}  // namespace sheaf::inline v0_1::lower
