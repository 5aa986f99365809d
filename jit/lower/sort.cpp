// Lists on a GPU: a stable sort by digits, the last one first. In each pass every tile, which is a thread's, counts the digits of
// its keys; counts are summed, digit by digit and within one tile by tile, so that each tile knows where its keys of a digit
// go; then each puts them there in order. The list has the order in which its loops walk, whatever the number of threads.
// Memory (see plan::sort_form): how many are listed; keys of odd and of even passes; indices on the way; counts; sums of counts.
#include <sheaf/jit/lower/sort.hpp>

#include <sheaf/jit/plan/sort.hpp>

namespace sheaf::lower {

namespace {

using plan::digits;
using plan::sort_part;

constexpr int team_lanes = 256;

struct sort_lowering {
  kernel_lowering& k;
  const plan::sort_form& f;
  const list_to_sort& list;
  scope& top;
  std::int32_t memory;
  ir::value when;  // none: always
  ir::value room = ir::none, counts = ir::none, sums = ir::none;

  ir::value number(std::int64_t n) const { return top.block->i64(n); }
  ir::value at(ir::block_builder& b, ir::value place) const { return b.load(memory, element::i64, {place}); }
  void put(ir::block_builder& b, ir::value place, ir::value x) const { b.store(memory, {place}, x); }
  static ir::value sum(ir::block_builder& b, ir::value x, ir::value y) { return b.emit(op::add, {x, y}); }
  ir::value key(ir::block_builder& b, int pass, ir::value n) const {
    const ir::value skipped = pass % 2 == 0 ? b.i64(1) : sum(b, room, b.i64(1));
    return sum(b, skipped, n);
  }
  ir::value plane(ir::block_builder& b, std::size_t p, ir::value n) const {
    const ir::value skipped = b.emit(op::mul, {room, b.i64(2 + static_cast<std::int64_t>(p))});
    return sum(b, sum(b, skipped, b.i64(1)), n);
  }
  // The last pass leaves its indices in the list's array, and those before by turns.
  bool to_array(int pass) const { return (f.passes - 1 - pass) % 2 == 0; }

  // How many there are to sort: none, if there is no room for all.
  ir::value listed(ir::block_builder& b) const {
    const ir::value all = at(b, b.i64(0));
    return b.emit(op::select, {b.emit(op::less_equal, {all, room}), all, b.i64(0)});
  }

  template <class Body>
  void each_piece(const char* name, ir::value count, Body&& body) {
    ir::block_builder& b = *top.block;
    const ir::value turns = when == ir::none ? count : b.emit(op::select, {when, count, b.i64(0)});
    scope piece(top, b.loop(ir::loop_kind::parallel, name, b.i64(0), turns));
    body(piece, piece.block->counter());
    piece.close();
  }
  template <class Body>
  void alone(Body&& body) {
    if (when == ir::none) return body(top);
    scope inner(top, top.block->guard(when));
    body(inner);
    inner.close();
  }
  range part_of(ir::block_builder& b, ir::value tile, std::int64_t size, ir::value first, ir::value end) const {
    const ir::value low = sum(b, first, b.emit(op::mul, {tile, b.i64(size)}));
    return {low, b.emit(op::minimum, {sum(b, low, b.i64(size)), end})};
  }

  // body(scope, digit, key, index(plane)) for each that a tile has in a pass.
  template <class Body>
  void each_of_tile(int pass, scope& piece, ir::value tile, Body&& body) {
    ir::block_builder& b = *piece.block;
    const auto digit = [&](ir::block_builder& c, ir::value x) {
      const ir::value rest =
          pass == 0 ? x : c.emit(op::quotient, {x, c.i64(std::int64_t{1} << (plan::digit_bits * pass))});
      return c.emit(op::remainder, {rest, c.i64(digits)});
    };
    if (pass == 0) {
      const ir::value first = k.emit(k.g.arg(f.outer, 0), piece), end = k.emit(k.g.arg(f.outer, 1), piece);
      list.walk(piece, part_of(b, tile, f.turns, first, end), [&](scope& in, ir::value x) {
        body(in, digit(*in.block, x), x, [&](std::size_t p) { return list.index(in, p); });
      });
      return;
    }
    const range part = part_of(b, tile, plan::tile_places, b.i64(0), listed(b));
    scope turn(piece, b.loop(ir::loop_kind::serial, "place", part.low, part.high));
    ir::block_builder& c = *turn.block;
    const ir::value n = c.counter(), x = at(c, key(c, pass - 1, n));
    body(turn, digit(c, x), x, [&](std::size_t p) {
      return to_array(pass - 1) ? c.load(list.array, element::i64, {list.place(c, p, n)}) : at(c, plane(c, p, n));
    });
    turn.close();
  }
  std::int32_t counters() const {
    return ir::add_buffer(k.code, {.name = "digits",
                                   .type = element::i32,
                                   .rank = 1,
                                   .where = ir::role::local,
                                   .elements = digits,
                                   .unit_inner = true,
                                   .extents = {digits}});
  }
  template <class Body>
  void each_digit(scope& piece, ir::value tile, ir::value tiles, Body&& body) {
    ir::block_builder d =
        piece.block->loop(ir::loop_kind::serial, "digit", piece.block->i64(0), piece.block->i64(digits));
    body(d, d.counter(), sum(d, d.emit(op::mul, {d.counter(), tiles}), tile));
    d.close();
  }
  ir::value tiles(int pass) { return k.emit(plan::tiles_of(k.g, f, pass), top); }
  ir::value entries(int pass) { return top.block->emit(op::mul, {tiles(pass), number(digits)}); }
  ir::value teams(int pass) {
    ir::block_builder& b = *top.block;
    return b.emit(op::quotient, {sum(b, entries(pass), b.i64(plan::counts_at_once - 1)), b.i64(plan::counts_at_once)});
  }

  void count(int pass) {
    const ir::value all = tiles(pass);
    const std::int32_t own = counters();
    each_piece("tile", all, [&](scope& piece, ir::value tile) {
      each_digit(piece, tile, all, [&](ir::block_builder& d, ir::value digit, ir::value) {
        d.store(own, {digit}, d.constant(element::i32, 0));
      });
      each_of_tile(pass, piece, tile, [&](scope& in, ir::value digit, ir::value, auto&&) {
        ir::block_builder& b = *in.block;
        const ir::value seen = b.load(own, element::i32, {digit});
        b.store(own, {digit}, sum(b, seen, b.constant(element::i32, 1)));
      });
      each_digit(piece, tile, all, [&](ir::block_builder& d, ir::value digit, ir::value entry) {
        const ir::value seen = d.load(own, element::i32, {digit});
        put(d, sum(d, counts, entry), d.cast(element::i64, seen));
      });
    });
  }

  // What a range of numbers comes to before each of them; returns what all come to. Folded by max: each one included.
  ir::value running(scope& at_, monoid fold, ir::value first, const range& part) {
    ir::block_builder& b = *at_.block;
    const ir::value all = b.accumulator(element::i64, fold, false);
    ir::block_builder c = b.loop(ir::loop_kind::vector, "entry", part.low, part.high, team_lanes);
    const ir::value place = sum(c, first, c.counter());
    const ir::value x = c.load(memory, element::i64, {place}, ir::access::contiguous), to = c.scan_lanes(all, x);
    c.store(memory, {place}, fold == monoid::sum ? c.emit(op::sub, {to, x}) : to, ir::access::contiguous);
    c.close();
    return b.read(all);
  }
  void prefix(int pass) {
    const ir::value all = entries(pass);
    each_piece("team", teams(pass), [&](scope& piece, ir::value team) {
      ir::block_builder& b = *piece.block;
      const range part = part_of(b, team, plan::counts_at_once, b.i64(0), all);
      put(b, sum(b, sums, team), running(piece, monoid::sum, counts, part));
    });
  }
  void sum_up(int pass) {
    const ir::value all = teams(pass);
    alone([&](scope& at_) {
      const ir::value listed = running(at_, monoid::sum, sums, {at_.block->i64(0), all});
      if (pass == 0) put(*at_.block, at_.block->i64(0), listed);
    });
  }

  void place(int pass) {
    const ir::value all = tiles(pass);
    const std::int32_t own = counters();
    each_piece("tile", all, [&](scope& piece, ir::value tile) {
      const ir::value fits = piece.block->emit(op::less_equal, {at(*piece.block, piece.block->i64(0)), room});
      scope some(piece, piece.block->guard(fits));
      each_digit(some, tile, all, [&](ir::block_builder& d, ir::value digit, ir::value entry) {
        const ir::value team = d.emit(op::quotient, {entry, d.i64(plan::counts_at_once)});
        const ir::value before = sum(d, at(d, sum(d, counts, entry)), at(d, sum(d, sums, team)));
        d.store(own, {digit}, d.cast(element::i32, before));
      });
      each_of_tile(pass, some, tile, [&](scope& in, ir::value digit, ir::value x, auto&& index) {
        ir::block_builder& b = *in.block;
        const ir::value position = b.load(own, element::i32, {digit}), n = b.cast(element::i64, position);
        b.store(own, {digit}, sum(b, position, b.constant(element::i32, 1)));
        put(b, key(b, pass, n), x);
        for (std::size_t p = 0; p < static_cast<std::size_t>(f.planes); ++p) {
          const ir::value found = index(p);
          if (to_array(pass))
            b.store(list.array, {list.place(b, p, n)}, found);
          else
            put(b, plane(b, p, n), found);
        }
      });
      some.close();
    });
  }

  // How many places are of keys less than `key`, of `all` that are sorted.
  ir::value before(ir::block_builder& b, ir::value all, ir::value least) const {
    ir::value found = b.i64(0);
    for (int bit = f.steps; bit-- > 0;) {
      const ir::value next = sum(b, found, b.i64(std::int64_t{1} << bit)), inside = b.emit(op::less_equal, {next, all});
      const ir::value last = key(b, f.passes - 1, b.emit(op::sub, {next, b.i64(1)}));
      const ir::value x = b.load(memory, element::i64, {last}, ir::access::uniform, inside);
      const ir::value less = b.emit(op::logical_and, {inside, b.emit(op::less, {x, least})});
      found = b.emit(op::select, {less, next, found});
    }
    return found;
  }
  void ends() {
    each_piece("key", list.count, [&](scope& piece, ir::value n) {
      ir::block_builder& b = *piece.block;
      const ir::value all = at(b, b.i64(0)), last = b.emit(op::equal, {sum(b, n, b.i64(1)), list.count});
      const ir::value found = before(b, listed(b), sum(b, n, b.i64(list.least)));
      b.store(list.array, {sum(b, list.ends, n)}, b.emit(op::select, {last, all, found}));
      if (!list.reach) return;
      ir::block_builder chunk = b.guard(b.emit(op::logical_not, {last}));
      chunk.store(list.array, {n}, all);
      chunk.close();
    });
  }

  // Slices by where they end: the farthest of a tile, of all tiles up to one, and so the first that reaches a chunk.
  template <class Body>
  void each_reach(scope& piece, ir::value tile, Body&& body) {
    ir::block_builder& b = *piece.block;
    const range part = part_of(b, tile, plan::tile_places, b.i64(0), listed(b));
    scope turn(piece, b.loop(ir::loop_kind::serial, "place", part.low, part.high));
    body(*turn.block, turn.block->counter(), list.reach(turn, turn.block->counter()));
    turn.close();
  }
  void last() {
    each_piece("tile", tiles(1), [&](scope& piece, ir::value tile) {
      ir::block_builder& b = *piece.block;
      const ir::value reached = b.accumulator(element::i64, monoid::max, false);
      b.combine(reached, b.i64(0));
      each_reach(piece, tile, [&](ir::block_builder& c, ir::value, ir::value end) { c.combine(reached, end); });
      put(b, sum(b, counts, tile), b.read(reached));
    });
  }
  void farthest() {
    const ir::value all = tiles(1);
    alone([&](scope& at_) { running(at_, monoid::max, counts, {at_.block->i64(0), all}); });
  }
  void reach() {
    each_piece("tile", tiles(1), [&](scope& piece, ir::value tile) {
      ir::block_builder& b = *piece.block;
      const ir::value reached = b.accumulator(element::i64, monoid::max, false);
      const ir::value other = b.emit(op::less, {b.i64(0), tile}),
                      place = sum(b, counts, b.emit(op::sub, {tile, b.i64(1)}));
      b.combine(reached, b.load(memory, element::i64, {place}, ir::access::uniform, other));
      each_reach(piece, tile, [&](ir::block_builder& c, ir::value n, ir::value end) {
        ir::block_builder d = c.loop(ir::loop_kind::serial, "reach", c.read(reached), end);
        d.store(list.array, {d.counter()}, n);
        d.close();
        c.combine(reached, end);
      });
    });
  }
};

}  // namespace

void kernel_lowering::sort(const stage& s, int part, const list_to_sort& list, scope& top) {
  const plan::sort_form& f = s.sort;
  const ir::value when = s.when == no_node ? ir::none : emit(s.when, top);
  sort_lowering one{*this, f, list, top, buffers.at(f.memory), when};
  one.room = emit(f.room, top);
  one.counts = emit(plan::counts_at(g, f), top);
  one.sums = emit(plan::sums_at(g, f), top);
  const int pass = part / 4;
  switch (plan::parts_of(s)[static_cast<std::size_t>(part)]) {
    case sort_part::count:
      return one.count(pass);
    case sort_part::prefix:
      return one.prefix(pass);
    case sort_part::sums:
      return one.sum_up(pass);
    case sort_part::place:
      return one.place(pass);
    case sort_part::ends:
      return one.ends();
    case sort_part::last:
      return one.last();
    case sort_part::farthest:
      return one.farthest();
    case sort_part::reach:
      return one.reach();
  }
}

}  // namespace sheaf::lower
