// Passes after the first, and what is done between passes and after the last: on numbers alone, so one text serves
// every program. A pass moves the digit that it sorts by to a key's front: so the next one's is the last again, and
// after all of them keys are as they were.
#include <sheaf/jit/lower/sort_kernels.hpp>

#include <limits>
#include <map>
#include <mutex>
#include <string>

#include <sheaf/jit/ir/verify.hpp>
#include <sheaf/jit/lower/digits.hpp>
#include <sheaf/jit/plan/algorithms/sort/sort.hpp>
#include <sheaf/jit/tuning/tuning.hpp>
#include <sheaf/runtime/settings.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

using number = sort_number;

using tuning::sort::group_lanes, tuning::sort::usual_places;

ir::value told(ir::block_builder& b, number n) { return b.extent(sort_numbers, static_cast<std::int32_t>(n)); }

// The kernels of a module, whose numbers have one type.
struct kernel_writer {
  ir::module& code;
  int bits;  // of a digit
  index_memory memory = indices_in(code, sort_memory), from = indices_in(code, sort_from),
               to = indices_in(code, sort_to);

  ir::value at(ir::block_builder& b, ir::value place) const { return memory.load(b, place); }
  void put(ir::block_builder& b, ir::value place, ir::value x) const { memory.store(b, place, x); }

  // Where the sort has been switched off nothing is done.
  ir::value runs(ir::block_builder& b) {
    const ir::value state = at(b, b.i64(0));
    return b.emit(op::not_equal, {state, b.i64(0)});
  }
  ir::value listed(ir::block_builder& b) { return listed_of(b, memory, told(b, number::room)); }

  template <class Body>
  void each_task(scope& top, const char* name, number count, Body&& body) {
    scope task(top, top.block->loop(ir::loop_kind::parallel, name, top.block->i64(0), told(*top.block, count)));
    scope some(task, task.block->guard(runs(*task.block)));
    body(some, task.block->counter());
    some.close();
    task.close();
  }
  template <class Body>
  void alone(scope& top, Body&& body) {
    scope some(top, top.block->guard(runs(*top.block)));
    body(some);
    some.close();
  }

  // body(block, first place) for lanes of the places of a tile.
  template <class Body>
  void each_place(scope& task, ir::value tile, int lanes, Body&& body) {
    ir::block_builder& b = *task.block;
    const range part = part_of(b, tile, told(b, number::size), b.i64(0), listed(b));
    ir::block_builder c = b.loop(ir::loop_kind::vector, "place", part.low, part.high, lanes);
    body(c, c.counter());
    c.close();
  }
  ir::value keys_in(ir::block_builder& b, number first, ir::value n) {
    return memory.load(b, sum(b, told(b, first), n), ir::access::contiguous);
  }
  ir::value plane(ir::block_builder& b, number first, ir::value p, ir::value n) {
    const ir::value skipped = b.emit(op::mul, {told(b, number::room), p});
    return sum(b, sum(b, told(b, first), skipped), n);
  }

  void count(scope& top) {
    const digit_counters own = counters(code, bits);
    each_task(top, "tile", number::tiles, [&](scope& task, ir::value tile) {
      ir::block_builder& b = *task.block;
      clear_digits(b, own);
      each_place(task, tile, plan::tile_lanes, [&](ir::block_builder& c, ir::value n) {
        count_digits(c, own, last_digit(c, keys_in(c, number::old_keys, n), bits), ir::none);
      });
      store_digits(b, own, {memory, told(b, number::counts), tile, told(b, number::tiles)});
    });
  }

  // What a range of numbers comes to before each of them; returns what all come to. Folded by max: each one included.
  ir::value running(scope& at_, monoid fold, ir::value first, const range& part) {
    ir::block_builder& b = *at_.block;
    const ir::value all = b.accumulator(memory.type, fold, false);
    ir::block_builder c = b.loop(ir::loop_kind::vector, "entry", part.low, part.high, group_lanes);
    const ir::value place = sum(c, first, c.counter());
    const ir::value x = c.load(memory.buffer, memory.type, {place}, ir::access::contiguous);
    const ir::value up_to = c.scan_lanes(all, x);
    memory.store(c, place, fold == monoid::sum ? c.emit(op::sub, {up_to, x}) : up_to, ir::access::contiguous);
    c.close();
    const ir::value last = b.read(all);
    return memory.type == element::i64 ? last : b.cast(element::i64, last);
  }

  void prefix(scope& top) {
    each_task(top, "group", number::groups, [&](scope& task, ir::value group) {
      ir::block_builder& b = *task.block;
      const range part = part_of(b, group, b.i64(plan::counts_at_once), b.i64(0), told(b, number::entries));
      const ir::value all = running(task, monoid::sum, told(b, number::counts), part);
      put(b, sum(b, told(b, number::sums), group), all);
    });
  }

  void sums(scope& top) {
    alone(top, [&](scope& at_) {
      ir::block_builder& b = *at_.block;
      const ir::value all = running(at_, monoid::sum, told(b, number::sums), {b.i64(0), told(b, number::groups)});
      ir::block_builder first = b.guard(b.emit(op::not_equal, {told(b, number::first), b.i64(0)}));
      put(first, first.i64(1), all);
      first.close();
    });
  }

  void place(scope& top) {
    const digit_counters own = counters(code, bits);
    each_task(top, "tile", number::tiles, [&](scope& task, ir::value tile) {
      ir::block_builder& b = *task.block;
      const counts_table table{memory, told(b, number::counts), tile, told(b, number::tiles), told(b, number::sums)};
      load_digits(b, own, table);
      each_place(task, tile, plan::tile_lanes, [&](ir::block_builder& c, ir::value n) {
        const ir::value x = keys_in(c, number::old_keys, n);
        const ir::value next = next_places(c, own, last_digit(c, x, bits), ir::none);
        const ir::value moved = moved_digit(c, x, bits, told(c, number::top));
        memory.store(c, sum(c, told(c, number::keys), next), moved, ir::access::gather);
        ir::block_builder d = c.loop(ir::loop_kind::serial, "plane", c.i64(0), told(c, number::planes));
        const ir::value p = d.counter();
        const ir::value found = d.load(from.buffer, from.type, {plane(d, number::from, p, n)}, ir::access::contiguous);
        to.store(d, plane(d, number::to, p, next), found, ir::access::gather);
        d.close();
      });
    });
  }

  // How many places are of keys less than `least`, of `all` that are sorted: `size` of them are still in question.
  ir::value before(scope& at_, ir::value all, ir::value least) {
    ir::block_builder& b = *at_.block;
    const ir::value found = b.accumulator(element::i64, monoid::sum, false),
                    size = b.accumulator(element::i64, monoid::sum, false);
    b.combine(size, all);
    ir::block_builder c = b.loop(ir::loop_kind::serial, "step", b.i64(0), told(b, number::steps));
    const ir::value left = c.read(size), some = c.emit(op::less, {c.i64(0), left});
    const ir::value half = c.emit(op::quotient, {sum(c, left, c.i64(1)), c.i64(2)});
    const ir::value last = c.emit(op::sub, {sum(c, c.read(found), half), c.i64(1)});
    const ir::value x =
        memory.load(c, sum(c, told(c, number::old_keys), last), ir::access::uniform, some);
    const ir::value less = c.emit(op::logical_and, {some, c.emit(op::less, {x, least})});
    c.combine(found, c.emit(op::select, {less, half, c.i64(0)}));
    c.combine(size, c.emit(op::sub, {c.i64(0), half}));
    c.close();
    return b.read(found);
  }

  void ends(scope& top) {
    each_task(top, "key", number::bounds, [&](scope& task, ir::value n) {
      ir::block_builder& b = *task.block;
      const ir::value all = at(b, b.i64(1)), last = b.emit(op::equal, {sum(b, n, b.i64(1)), told(b, number::bounds)});
      const ir::value found = before(task, listed(b), sum(b, n, told(b, number::least)));
      to.store(b, sum(b, told(b, number::ends), n), b.emit(op::select, {last, all, found}));
    });
  }

  // Slices by where they end: the farthest of a tile, of all tiles up to one, and of all slices up to each; so the
  // first that reaches a chunk is found by a search.
  ir::value reach_of(ir::block_builder& b, ir::value n) {
    const ir::value index = to.load(b, sum(b, told(b, number::to), n), ir::access::contiguous);
    return at(b, sum(b, told(b, number::reaches), b.emit(op::sub, {index, told(b, number::lowest)})));
  }
  void last(scope& top) {
    each_task(top, "tile", number::tiles, [&](scope& task, ir::value tile) {
      ir::block_builder& b = *task.block;
      const ir::value reached = b.accumulator(element::i64, monoid::max, true);
      each_place(task, tile, group_lanes,
                 [&](ir::block_builder& c, ir::value n) { c.combine(reached, reach_of(c, n)); });
      const ir::value farthest = b.emit(op::maximum, {b.fold_lanes(reached), b.i64(0)});
      put(b, sum(b, told(b, number::counts), tile), farthest);
    });
  }
  void farthest(scope& top) {
    alone(top, [&](scope& at_) {
      ir::block_builder& b = *at_.block;
      running(at_, monoid::max, told(b, number::counts), {b.i64(0), told(b, number::tiles)});
    });
  }
  // Their keys are not needed any more.
  void reach(scope& top) {
    each_task(top, "tile", number::tiles, [&](scope& task, ir::value tile) {
      ir::block_builder& b = *task.block;
      const ir::value reached = b.accumulator(element::i64, monoid::max, false);
      const ir::value other = b.emit(op::less, {b.i64(0), tile});
      const ir::value place = sum(b, told(b, number::counts), b.emit(op::sub, {tile, b.i64(1)}));
      b.combine(reached, memory.load(b, place, ir::access::uniform, other));
      each_place(task, tile, group_lanes, [&](ir::block_builder& c, ir::value n) {
        const ir::value up_to = c.scan_lanes(reached, reach_of(c, n));
        memory.store(c, sum(c, told(c, number::old_keys), n), up_to, ir::access::contiguous);
      });
    });
  }
  void first(scope& top) {
    each_task(top, "chunk", number::bounds, [&](scope& task, ir::value n) {
      ir::block_builder& b = *task.block;
      const ir::value next = sum(b, n, b.i64(1)), found = before(task, listed(b), next);
      ir::block_builder chunk = b.guard(b.emit(op::less, {next, told(b, number::bounds)}));
      to.store(chunk, n, found);
      chunk.close();
    });
  }
};

ir::shared_module made(element type, int bits) {
  ir::shared_module s;
  s.code.name = type == element::i64 ? "sheaf_sort" : "sheaf_sort32";
  if (bits != tuning::sort::digit_bits) s.code.name += "_by" + std::to_string(bits);
  for (const char* name : {"memory", "from", "to", "numbers"}) {
    const int slot = static_cast<int>(s.code.buffers.size());
    ir::add_buffer(s.code, {.name = name,
                            .type = slot == sort_numbers ? element::i64 : type,
                            .rank = slot == sort_numbers ? static_cast<int>(number::count_) : 1,
                            .where = ir::role::workspace,
                            .slot = slot,
                            .unit_inner = true,
                            .extents = {}});
  }
  static constexpr struct {
    const char* name;
    void (kernel_writer::*lower)(scope&);
  } kernels[] = {{"count", &kernel_writer::count}, {"prefix", &kernel_writer::prefix},
                 {"sums", &kernel_writer::sums},   {"place", &kernel_writer::place},
                 {"ends", &kernel_writer::ends},   {"last", &kernel_writer::last},
                 {"farthest", &kernel_writer::farthest}, {"reach", &kernel_writer::reach},
                 {"first", &kernel_writer::first}};
  kernel_writer writer{s.code, bits};
  for (const auto& each : kernels) {
    ir::kernel_builder builder(each.name);
    scope top(builder.top());
    (writer.*each.lower)(top);
    s.code.kernels.push_back(std::move(builder).finish());
  }
  // A million of keys.
  s.typical.assign(static_cast<std::size_t>(number::count_), usual_places);
  s.typical[static_cast<std::size_t>(number::tiles)] = usual_places / plan::least_tile;
  s.typical[static_cast<std::size_t>(number::groups)] =
      usual_places / plan::least_tile * (std::int64_t{1} << bits) / plan::counts_at_once;
  s.most.assign(static_cast<std::size_t>(number::count_), std::numeric_limits<std::int64_t>::max());
  s.most[static_cast<std::size_t>(number::planes)] = 1 << 20;  // indices of a place: a program has fewer
  s.most[static_cast<std::size_t>(number::steps)] = 64;  // bits of a number of places
  if (runtime::current_settings().verify) ir::verify(s.code);
  return s;
}

}  // namespace

const ir::shared_module& sort_kernels(element type, int bits) {
  static std::mutex lock;
  static auto& all = *new std::map<std::pair<element, int>, ir::shared_module>;
  const std::lock_guard guard(lock);
  const auto found = all.find({type, bits});
  return found != all.end() ? found->second : all.emplace(std::pair(type, bits), made(type, bits)).first->second;
}

}  // namespace sheaf::inline v0_1::lower
