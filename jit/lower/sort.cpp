// Lists on a GPU: a stable sort by digits, the last one first. In each pass every tile, which is a block's, counts the
// digits of its keys in shared memory; counts are summed, digit by digit and within one tile by tile, so that each tile
// knows where its keys of a digit go; then each puts them there in order. Keys are lanes, so that neighbours are loaded
// at once. The list has the order in which its loops walk, whatever the number of threads. Here are the two kernels of
// a list that walk its program's loops; sort_kernels.cpp has the others. Memory: see plan/algorithms/sort/sort.hpp.
#include <sheaf/jit/lower/sort.hpp>

#include <sheaf/jit/lower/digits.hpp>
#include <sheaf/jit/lower/sort_kernels.hpp>
#include <sheaf/jit/plan/algorithms/sort/sort.hpp>

namespace sheaf::inline v0_1::lower {

using plan::sort_step;

namespace {

// The kernels of the first pass.
struct sort_lowering {
  kernel_lowering& k;
  const plan::sort_form& f;
  const list_to_sort& list;
  scope& top;
  index_memory memory;
  ir::value when;  // none: always
  ir::value tiles = ir::none, counts = ir::none;

  void put(ir::block_builder& b, ir::value place, ir::value x) const { memory.store(b, place, x); }
  // Tiles that there are something to do for.
  ir::value iterations() const {
    return when == ir::none ? tiles : top.block->emit(op::select, {when, tiles, top.block->i64(0)});
  }
  void each_of_tile(scope& task, ir::value tile, const lanes_body& body) const {
    const ir::value first = k.emit(k.g.arg(f.outer, 0), task), end = k.emit(k.g.arg(f.outer, 1), task);
    list.walk(task, part_of(*task.block, tile, task.block->i64(f.iterations), first, end), body);
  }

  // Tells those that follow whether the sort runs.
  void count() const {
    const digit_counters own = counters(k.code, f.digit_bits);
    const ir::value all = iterations(), one = top.block->i64(1);
    scope task(top, top.block->loop(ir::loop_kind::parallel, "tile", top.block->i64(0),
                                     top.block->emit(op::maximum, {all, one})));
    ir::block_builder& b = *task.block;
    const ir::value tile = b.counter();
    ir::block_builder first = b.guard(b.emit(op::equal, {tile, b.i64(0)}));
    put(first, first.i64(0), when == ir::none ? one : first.emit(op::select, {when, one, first.i64(0)}));
    first.close();
    scope some(task, b.guard(b.emit(op::less, {tile, all})));
    clear_digits(*some.block, own);
    each_of_tile(some, tile, [&](scope& in, ir::value x, ir::value listed) {
      count_digits(*in.block, own, last_digit(*in.block, x, own.bits), listed);
    });
    store_digits(*some.block, own, {memory, counts, tile, tiles});
    some.close();
    task.close();
  }

  void place() const {
    const digit_counters own = counters(k.code, f.digit_bits);
    const ir::value room = k.emit(f.room, top), sums = k.emit(plan::sums_at(k.g, f), top);
    scope task(top, top.block->loop(ir::loop_kind::parallel, "tile", top.block->i64(0), iterations()));
    ir::block_builder& b = *task.block;
    const ir::value tile = b.counter(), all = memory.load(b, b.i64(1));
    scope some(task, b.guard(b.emit(op::less_equal, {all, room})));
    load_digits(*some.block, own, {memory, counts, tile, tiles, sums});
    each_of_tile(some, tile, [&](scope& in, ir::value x, ir::value listed) { place_lanes(in, x, listed, own, room); });
    some.close();
    task.close();
  }
  void place_lanes(scope& in, ir::value x, ir::value listed, const digit_counters& own,
                   ir::value room) const {
    ir::block_builder& b = *in.block;
    const auto put = [&](ir::value place, ir::value what) {
      memory.store(b, place, what, ir::access::gather, listed);
    };
    const ir::value n = next_places(b, own, last_digit(b, x, own.bits), listed);
    const ir::value top_digit = b.i64(plan::weight_of_first(f));
    put(sum(b, b.i64(plan::keys_at), n), moved_digit(b, x, own.bits, top_digit));
    for (std::size_t p = 0; p < static_cast<std::size_t>(f.planes); ++p) {
      const ir::value found = list.index(in, p);
      const ir::value skipped = b.emit(op::mul, {room, b.i64(2 + static_cast<std::int64_t>(p))});
      const bool last = plan::fills_list(f, 0);
      const ir::value place = last ? list.place(b, p, n) : sum(b, sum(b, skipped, b.i64(plan::keys_at)), n);
      const std::int32_t array = last ? list.array : memory.buffer;
      const element type = b.type_of(found);  // of an index, or of what an update loads
      const std::int32_t typed = type == element::i64 ? array : held_as(k.code, array, type);
      indices_in(k.code, typed).store(b, place, found, ir::access::gather, listed);
    }
    if (!list.reach) return;
    const ir::value lowest = k.emit(k.g.arg(f.outer, 0), in), reaches = k.emit(plan::reaches_at(k.g, f), in);
    put(sum(b, reaches, b.emit(op::sub, {list.index(in, 0), lowest})), list.reach(in));
  }
};

}  // namespace

int lanes_of_walk(const plan::facts& known, const shapes::amount& iterations) {
  int lanes = 32;
  while (!known.call().force_for_tests && lanes < plan::tile_lanes && lanes < iterations) lanes *= 2;
  return lanes;
}
ir::value in_lanes(ir::block_builder& b, ir::value x) {
  if (b.is_vector(x)) return x;
  const ir::value lanes = b.lanes();
  return sum(b, x, b.emit(op::sub, {lanes, lanes}));
}

void kernel_lowering::sort(const stage& s, int part, const list_to_sort& list, scope& top) {
  const plan::sort_form& f = s.sort;
  const ir::value when = s.when == no_node ? ir::none : emit(s.when, top);
  sort_lowering one{*this, f, list, top, indices_in(code, buffers.at(f.memory)), when};
  one.tiles = emit(plan::tiles_of(g, f, 0), top);
  one.counts = emit(plan::counts_at(g, f), top);
  plan::parts_of(s)[static_cast<std::size_t>(part)].step == sort_step::count ? one.count() : one.place();
}

namespace {

// Kernels of sort_kernels().
std::pair<int, int> kernels_of(sort_step step) {
  const auto between = [](sort_kernel first, sort_kernel last) {
    return std::pair(static_cast<int>(first), static_cast<int>(last) + 1);
  };
  switch (step) {
    case sort_step::count:
      return between(sort_kernel::count, sort_kernel::count);
    case sort_step::prefix:
      return between(sort_kernel::prefix, sort_kernel::sums);
    case sort_step::place:
      return between(sort_kernel::place, sort_kernel::place);
    case sort_step::ends:
      return between(sort_kernel::ends, sort_kernel::ends);
    case sort_step::last:
      return between(sort_kernel::last, sort_kernel::farthest);
    case sort_step::reach:
      break;
  }
  return between(sort_kernel::reach, sort_kernel::first);
}

}  // namespace

namespace {

std::int64_t whole_quotient(std::int64_t a, std::int64_t b) { return a / b; }
shapes::amount whole_quotient(const shapes::amount& a, const shapes::amount& b) { return floor(a / b); }
std::int64_t whole_bits(std::int64_t n) { return shapes::bits_of(n, 0, 0); }
shapes::amount whole_bits(const shapes::amount& n) { return bit_width(n); }

}  // namespace

// In its array a list has, of C keys: of updates C + 2 ends, then places; of slices what reaches C chunks, C + 1 ends,
// places. Numbers of one call, or the formulas of a class.
template <class Number, class Value>
std::vector<Number> kernel_lowering::numbers_of_sort(const stage& s, const plan::sort_part& part,
                                                     const Value& known_value) const {
  const plan::sort_form& f = s.sort;
  const bool slices = s.how == plan::way::lists;
  const Number keys = known_value(f.keys), room = known_value(f.room), planes_at = plan::keys_at + 2 * room;
  const Number list_at = slices ? 2 * keys + 1 : keys + 2;
  const bool reaches = part.step > sort_step::ends;
  const std::int64_t size = reaches ? plan::tile_of_reaches(f) : f.tile;
  const Number tiles = reaches ? whole_quotient(room + size - 1, size)
                               : known_value(plan::tiles_of(g, f, part.step == sort_step::prefix ? part.pass : 1));
  const auto keys_of = [&](int pass) { return pass % 2 == 0 ? Number(plan::keys_at) : plan::keys_at + room; };
  std::vector<Number> numbers(static_cast<std::size_t>(sort_number::count_));
  const auto set = [&](sort_number n, const Number& x) { numbers[static_cast<std::size_t>(n)] = x; };
  const bool over = part.step > sort_step::place, to_list = over || plan::fills_list(f, part.pass);
  set(sort_number::room, room);
  set(sort_number::tiles, tiles);
  set(sort_number::size, size);
  const std::int64_t digits = plan::digits_of(f);
  set(sort_number::entries, tiles * digits);
  set(sort_number::groups, whole_quotient(tiles * digits + plan::counts_at_once - 1, plan::counts_at_once));
  set(sort_number::counts, known_value(plan::counts_at(g, f)));
  set(sort_number::sums, known_value(plan::sums_at(g, f)));
  set(sort_number::first, part.pass == 0);
  set(sort_number::old_keys, keys_of(over ? f.passes - 1 : part.pass + 1));
  set(sort_number::keys, keys_of(part.pass));
  set(sort_number::from, to_list ? planes_at : list_at);
  set(sort_number::to, to_list ? list_at : planes_at);
  set(sort_number::planes, f.planes);
  set(sort_number::top, plan::weight_of_first(f));
  set(sort_number::steps, whole_bits(room));
  set(sort_number::bounds, slices ? keys + 1 : keys + 2);
  set(sort_number::ends, slices ? keys : Number(0));
  set(sort_number::least, slices ? 1 : 0);
  set(sort_number::reaches, plan::has_reaches(s) ? known_value(plan::reaches_at(g, f)) : Number(0));
  set(sort_number::lowest, known_value(g.arg(f.outer, 0)));
  return numbers;
}

std::shared_ptr<const ir::shared_call> kernel_lowering::sort_call(const stage& s, int part) const {
  const plan::sort_part one = plan::parts_of(s)[static_cast<std::size_t>(part)];
  const bool walks = one.step == sort_step::count || one.step == sort_step::place;
  if (walks && one.pass == 0) return nullptr;
  const auto [first, end] = kernels_of(one.step);
  const bool to_list = one.step != sort_step::place || plan::fills_list(s.sort, one.pass);
  const std::int32_t memory = buffers.at(s.sort.memory), array = buffers.at(s.define);
  ir::shared_call call{.of = &sort_kernels(g.type(s.sort.memory), s.sort.digit_bits),
                       .first = first,
                       .end = end,
                       .given = {},
                       .numbers = {},
                       .formulas = {}};
  call.given = {memory, to_list ? memory : array, to_list ? array : memory};
  call.numbers = numbers_of_sort<std::int64_t>(s, one, [&](node_id n) { return known.exact(n).value(); });
  call.formulas = numbers_of_sort<shapes::amount>(s, one, [&](node_id n) { return known.value(n).value(); });
  return std::make_shared<const ir::shared_call>(std::move(call));
}

ir::kernel kernel_lowering::part_of_sort(const plan::kernel_plan& k, const stage& list) {
  ir::kernel_builder builder(k.name);
  scope top(builder.top());
  auto call = sort_call(list, k.part);
  if (call == nullptr)
    list.how == plan::way::inverse_index ? sort_inverse_index(list, k.part, top) : sort_slices(list, k.part, top);
  ir::kernel made = std::move(builder).finish();
  made.call = std::move(call);
  if (k.part == 0) made.switched_off = buffers.at(list.sort.memory);
  return made;
}

}  // namespace sheaf::inline v0_1::lower
