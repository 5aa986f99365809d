#include <sheaf/jit/ir/passes/insert_prefetch.hpp>

#include <optional>

#include <sheaf/jit/ir/passes/prefetch_gathered.hpp>

namespace sheaf::inline v0_1::ir {

namespace {

using namespace tuning::prefetch;

// The whole pass: those rows, and what two loops read, one after the other.
class prefetcher : gathered_rows {
 public:
  prefetcher(const module& m, kernel numbered, const bytes_of_caches& least)
      : gathered_rows(m, std::move(numbered), least) {}

  kernel operator()(block body) && {
    note(body, -1, -1);
    blocks_.push_back({&builder_.top(), {}});
    rewrite(std::move(body), builder_.top());
    return std::move(builder_).finish();
  }

 private:
  // A loop that was passed, with the rows in lanes that it reads.
  struct passed {
    const loop_facts* loop;
    std::int32_t number;
    std::vector<place> rows;
  };

  // At the end of a loop's body: `before` are the loops before it in the same block.
  void prefetch_next(std::int32_t number, const std::vector<passed>& before, std::set<place>& done, block_builder& b) {
    const loop_facts& loop = loops_.at(number);
    for (const passed& p : before) {
      if (p.loop->low != loop.low || p.loop->high != loop.high || p.loop->kind != loop.kind ||
          p.loop->backward != loop.backward)
        continue;
      for (const place& read : p.rows) {
        std::optional<std::int32_t> around;
        for (const std::int32_t each : path_)
          if (each != number && std::ranges::any_of(read.subscripts, [&](value v) { return depends_on(v, each); }))
            around = each;
        place key = read;  // whichever loop reads it
        for (value& v : key.subscripts)
          if (depends_on(v, p.number)) v = none;
        if (!done.insert(std::move(key)).second) continue;
        if (loop.counter == none) depth_[loops_.at(number).counter = b.counter()] = blocks_.size() - 1;
        const place here = again(read, {{{p.number, loop.counter}}});
        if (loop.kind == loop_kind::vector && here.subscripts.size() == 1)
          next_slice(here, loop, b);
        else if (loop.kind == loop_kind::vector && around)
          next_row(here, loop, *around, b);
        else if (loop.kind == loop_kind::serial && around)
          next_lanes(here, *around, b);
      }
    }
  }
  // Of short rows the first half of the one after the next. The other half is left to the first loop, whose hardware
  // prefetcher reads further ahead than a program can: so both loops keep the memory busy.
  void next_row(const place& here, const loop_facts& loop, std::int32_t around, block_builder& b) {
    const loop_facts& rows = loops_.at(around);
    if (rows.lanes > 1 || std::ranges::any_of(here.subscripts, [&](value v) { return loads(v); })) return;
    const bool halves = loop.trips <= short_row;
    place next = again(here, {{{around, emit(op::add, rows.counter, i64(halves ? 2 : 1))}}});
    if (!halves) return b.prefetch_l2(next.buffer, std::move(next.subscripts));
    const value done = emit(op::sub, loop.counter, loop.low), half = emit(op::quotient, done, i64(2));
    next.subscripts.back() = emit(op::add, loop.low, half);
    b.prefetch_half_line(next.buffer, std::move(next.subscripts));
  }
  // A loop of which an iteration reads so many rows, and by how much its counter goes on.
  struct tile {
    std::int32_t loop;
    std::int64_t rows, step;
  };
  // Does an iteration go on by several rows, so that none reads those of another?
  bool strides(value v, std::int32_t loop) {
    const instruction& i = k_.instructions[v];
    if (i.code != opcode::elementwise || !depends_on(v, loop)) return false;
    if (i.what == op::mul) return std::ranges::any_of(i.args, [&](value x) { return is_counter(x, loop); });
    return std::ranges::any_of(i.args, [&](value x) { return strides(x, loop); });
  }
  bool strides(const place& read, std::int32_t loop) {
    return std::ranges::any_of(read.subscripts, [&](value v) { return strides(v, loop); });
  }
  std::optional<tile> tile_of(const place& read, const std::vector<place>& rows) {
    const auto depends = [&](const place& p, std::int32_t each) {
      return std::ranges::any_of(p.subscripts, [&](value v) { return depends_on(v, each); });
    };
    for (const std::int32_t each : path_) {
      const loop_facts& loop = loops_.at(each);
      if (!depends(read, each) || loop.counter == none) continue;
      if (loop.jam > 1) return tile{each, loop.jam, loop.jam};
      const auto is_beside = [&](const place& p) { return p.buffer == read.buffer && strides(p, each); };
      const std::int64_t beside = std::ranges::count_if(rows, is_beside);
      if (loop.kind == loop_kind::serial && !loop.backward && beside >= rows_of_tile) return tile{each, beside, 1};
    }
    return {};
  }
  // Rows of which several are read at once, before the next as many: each begins far from where the one before it of
  // the same stream ended, so hardware has to find it anew. Long rows leave it the time to, and short ones are one
  // stream.
  void next_tile(const std::vector<place>& rows, const loop_facts& loop, block_builder& b) {
    for (const place& read : rows) {
      const std::optional<tile> tiled = tile_of(read, rows);
      if (!tiled || !(loop.trips <= short_row) || loop.trips < row_of_tile) continue;
      if (std::ranges::any_of(read.subscripts, [&](value v) { return loads(v); })) continue;
      const value length = emit(op::maximum, emit(op::sub, loop.high, loop.low), i64(1));
      const std::int64_t elements = tile_bytes / row(buffer_of(read.buffer).type).bytes;
      const value tiles = emit(op::quotient, i64(elements / tiled->rows), length);
      const value ahead = emit(op::mul, emit(op::add, tiles, i64(1)), i64(tiled->step));
      place next = again(read, {{{tiled->loop, emit(op::add, loops_.at(tiled->loop).counter, ahead)}}});
      b.prefetch_l2(next.buffer, std::move(next.subscripts));
    }
  }
  // Rows that fewer lanes hold than a group has: a load under a mask is no stream that hardware follows.
  void next_masked(const std::vector<place>& rows, const loop_facts& loop, block_builder& b) {
    if (loop.trips >= loop.lanes || loop.high == none) return;
    std::set<std::int32_t> done;
    for (const place& read : rows) {
      const auto around = std::ranges::find_if(path_, [&](std::int32_t each) {
        const auto counts = [&](value v) { return is_counter(v, each); };
        return loops_.at(each).lanes <= 1 && std::ranges::any_of(read.subscripts, counts);
      });
      if (around == path_.end() || loops_.at(*around).backward || done.contains(read.buffer)) continue;
      if (std::ranges::any_of(read.subscripts, [&](value v) { return loads(v); })) continue;
      done.insert(read.buffer);
      const value length = emit(op::maximum, emit(op::sub, loop.high, loop.low), i64(1));
      const value far = i64(masked_bytes / row(buffer_of(read.buffer).type).bytes);
      const value ahead = emit(op::add, emit(op::quotient, far, length), i64(1));
      place next = again(read, {{{*around, emit(op::add, loops_.at(*around).counter, ahead)}}});
      b.prefetch(next.buffer, std::move(next.subscripts));
    }
  }
  // Down columns in lanes: of the rows some time later, and after the last row of the lanes beside. Each row's lanes
  // lie a row from those before, and are too few for hardware to follow. Where a line or two of each row are stored
  // side by side, as of planes, each row is a stream of its own: its line after the next.
  void next_rows(const std::vector<place>& rows, std::int32_t number, bool stores, block_builder& b) {
    const loop_facts& loop = loops_.at(number);
    if (loop.kind != loop_kind::serial || loop.counter == none || loop.backward) return;
    for (const place& read : rows) {
      const auto across = std::ranges::find_if(path_, [&](std::int32_t each) {
        return loops_.at(each).kind == loop_kind::vector && is_counter(read.subscripts.back(), each);
      });
      if (across == path_.end() || !is_read_once(read)) continue;
      const loop_facts& columns = loops_.at(*across);
      if (columns.counter == none || loop.trips < least_trips) continue;
      const std::int64_t bytes = columns.lanes * row(buffer_of(read.buffer).type).bytes;
      if (stores && bytes <= narrow_column && columns.trips > columns.lanes) {
        const value soon = emit(op::add, columns.counter, i64(2 * columns.lanes));
        place same_row = again(read, {{{*across, soon}}});
        b.prefetch(same_row.buffer, std::move(same_row.subscripts));
        continue;
      }
      const value next = emit(op::add, loop.counter, i64(std::max<std::int64_t>(1, column_bytes / bytes)));
      const value wrapped = emit(op::sub, next, emit(op::sub, loop.high, loop.low));
      const value beside = emit(op::add, columns.counter, i64(columns.lanes));
      const value beyond = emit(op::logical_and, emit(op::less_equal, loop.high, next),
                                emit(op::less, beside, columns.high));
      place ahead = again(read, {{{number, select(beyond, wrapped, next)},
                                  {*across, select(beyond, beside, columns.counter)}}});
      b.prefetch_l2(ahead.buffer, std::move(ahead.subscripts));
    }
  }
  // Does no iteration of the loops around read what another did, and no other loop?
  bool is_read_once(const place& read) {
    if (readers_[read.buffer] > 1) return false;
    for (const value v : read.subscripts)
      if (loads(v) || sources_of(v).loops.size() > 1) return false;
    return std::ranges::all_of(path_, [&](std::int32_t around) {
      const loop_facts& loop = loops_.at(around);
      if (loop.jam > 1) return false;
      const auto counts = [&](value v) { return depends_on(v, around); };
      if (std::ranges::any_of(read.subscripts, counts)) return true;
      return std::ranges::any_of(path_, [&](std::int32_t inner) {
        return inner != around && (counts(loops_.at(inner).low) || counts(loops_.at(inner).high));
      });
    });
  }
  // Down columns in lanes: the lanes beside.
  void next_lanes(place here, std::int32_t around, block_builder& b) {
    const loop_facts& columns = loops_.at(around);
    if (columns.kind != loop_kind::vector || columns.trips <= columns.lanes) return;
    if (!is_counter(here.subscripts.back(), around)) return;
    for (std::size_t d = 0; d + 1 < here.subscripts.size(); ++d)
      if (depends_on(here.subscripts[d], around) || loads(here.subscripts[d])) return;
    here.subscripts.back() = emit(op::add, columns.counter, i64(columns.lanes));
    b.prefetch(here.buffer, std::move(here.subscripts));
  }
  // From off[i] to off[i + 1].
  bool ends_where_the_next_begins(const loop_facts& loop) {
    std::set<place> begins;
    for (const value v : sources_of(loop.low).loads)
      begins.insert({k_.instructions[v].target, k_.instructions[v].args});
    return std::ranges::any_of(sources_of(loop.high).loads, [&](value v) {
      const instruction& i = k_.instructions[v];
      if (i.args.size() != 1 || k_.instructions[i.args[0]].what != op::add) return false;
      const instruction& sum = k_.instructions[i.args[0]];
      const instruction& one = k_.instructions[sum.args[1]];
      return one.code == opcode::constant && one.bits == 1 && begins.contains({i.target, {sum.args[0]}});
    });
  }
  // Of a list whose slices each begin where the one before ends.
  void next_slice(place here, const loop_facts& loop, block_builder& b) {
    if (!ends_where_the_next_begins(loop)) return;
    here.subscripts = {emit(op::add, loop.counter, emit(op::sub, loop.high, loop.low))};
    b.prefetch_l2(here.buffer, std::move(here.subscripts));
  }
  // Contiguous loads of large inputs whose place the loop's counter is part of.
  void collect(const block& body, std::int32_t number, std::vector<place>& rows) {
    for (const statement& s : body) {
      if (s.kind == statement_kind::guard) collect(s.body, number, rows);
      if (s.kind != statement_kind::instruct) continue;
      const instruction& i = k_.instructions[s.id];
      if (i.code != opcode::load || i.how != access::contiguous || !is_large_input(i.target, least_.from_last_cache))
        continue;
      const bool along = is_counter(i.args.back(), number);
      const bool vector = loops_.at(number).kind == loop_kind::vector;
      const auto depends = [&](value v) { return depends_on(v, number); };
      if (std::ranges::any_of(i.args, [&](value v) { return sources_of(v).cells; })) continue;
      if (along == vector && std::ranges::count_if(i.args, depends) == 1) rows.push_back({i.target, i.args});
    }
  }

  // ---- the walk

  void rewrite(block body, block_builder& into) {
    std::vector<passed> before;
    std::set<place> done;
    std::set<value> gathered;
    for (statement& s : body) {
      if (s.kind == statement_kind::instruct) {
        if (is_in_lanes(s)) prefetch_gathered(body, gathered, into);
        depth_[s.id] = blocks_.size() - 1;
      }
      if (s.kind != statement_kind::loop && s.kind != statement_kind::guard) {
        into.take(std::move(s));
        continue;
      }
      block inside = std::move(s.body);
      s.body.clear();
      const bool loop = s.kind == statement_kind::loop;
      const std::int32_t number = s.loop;
      const auto is_store = [](const statement& each) { return each.kind == statement_kind::store; };
      const bool stores = std::ranges::any_of(inside, is_store);
      block_builder inner(k_, &into, std::move(s));
      blocks_.push_back({&inner, {}});
      std::vector<place> rows;
      if (loop) collect(inside, number, rows);
      if (loop) path_.push_back(number);
      rewrite(std::move(inside), inner);
      if (loop) prefetch_next(number, before, done, inner);
      if (loop && loops_.at(number).kind == loop_kind::vector) next_tile(rows, loops_.at(number), inner);
      if (loop && loops_.at(number).kind == loop_kind::vector) next_masked(rows, loops_.at(number), inner);
      if (loop) next_rows(rows, number, stores, inner);
      if (loop) path_.pop_back();
      blocks_.pop_back();
      inner.close();
      if (!rows.empty()) before.push_back({&loops_.at(number), number, std::move(rows)});
    }
  }
};

void before_transposed(const module& m, const kernel& k, block& body) {
  block made;
  // Where lanes come from memory as they lie, what is stored is one stream, which hardware follows.
  const bool streams = std::ranges::any_of(body, [&](const statement& s) {
    if (s.kind != statement_kind::instruct) return false;
    const instruction& i = k.instructions[s.id];
    return i.code == opcode::load && i.vector && i.how == access::contiguous &&
           m.buffers[static_cast<std::size_t>(i.target)].where == role::input;
  });
  for (statement& s : body) {
    before_transposed(m, k, s.body);
    const bool load = s.kind == statement_kind::instruct && k.instructions[s.id].code == opcode::load;
    const bool store = s.kind == statement_kind::store && !streams;
    if ((load && k.instructions[s.id].how == access::transposed) || (store && s.how == access::transposed)) {
      statement& next = made.emplace_back();
      next.kind = statement_kind::prefetch;
      next.target = load ? k.instructions[s.id].target : s.target;
      next.subscripts = load ? k.instructions[s.id].args : s.subscripts;
      next.how = access::transposed;
      next.written = store;
    }
    made.push_back(std::move(s));
  }
  body = std::move(made);
}

}  // namespace

void prefetch_rows_in_lanes(module& m) {
  for (kernel& k : m.kernels) before_transposed(m, k, k.body);
}

void insert_prefetch(module& m, const bytes_of_caches& least) {
  const auto large = [&](const buffer& b) { return b.where == role::input && b.bytes >= least.from_last_cache; };
  if (std::ranges::none_of(m.buffers, large)) return;
  for (kernel& k : m.kernels) {
    if (k.call != nullptr) continue;
    block body = std::move(k.body);
    k.body.clear();
    k = prefetcher(m, std::move(k), least)(std::move(body));
  }
}

}  // namespace sheaf::inline v0_1::ir
