#include <sheaf/jit/ir/passes/insert_prefetch.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include <sheaf/jit/ir/builder.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::ir {

namespace {

using namespace tuning::prefetch;

struct place {
  std::int32_t buffer;
  std::vector<value> subscripts;
  auto operator<=>(const place&) const = default;
};

class prefetcher {
 public:
  prefetcher(const module& m, kernel numbered, const bytes_of_caches& least)
      : m_(m), least_(least), builder_(std::move(numbered)), k_(builder_.under_construction()) {}

  kernel operator()(block body) && {
    note(body, -1, -1);
    blocks_.push_back({&builder_.top(), {}});
    rewrite(std::move(body), builder_.top());
    return std::move(builder_).finish();
  }

 private:
  // ---- what is known of the kernel as it was

  struct loop_facts {
    loop_kind kind;
    value low, high, counter = none;
    std::int32_t lanes;
    amount trips;
    bool backward;
    std::int32_t home;              // as of loads
    std::int32_t jam;
    std::set<std::int32_t> stored;  // buffers
  };

  // `home`: the loop of whose every iteration these statements are; -1 outside of loops and beneath a guard.
  void note(const block& body, std::int32_t home, std::int32_t around) {
    for (const statement& s : body) {
      if (s.kind == statement_kind::instruct) {
        const instruction& i = k_.instructions[s.id];
        if (i.code == opcode::counter && loops_.at(i.target).counter == none) loops_.at(i.target).counter = s.id;
        if (i.code == opcode::load) home_[s.id] = home;
      } else if (s.kind == statement_kind::loop) {
        loops_[s.loop] = {s.how_loop, s.low, s.high, none, s.lanes, s.trips, s.backward, home, s.jam, {}};
        note(s.body, s.loop, s.loop);
        if (around >= 0) loops_[around].stored.insert(loops_[s.loop].stored.begin(), loops_[s.loop].stored.end());
      } else if (s.kind == statement_kind::guard) {
        note(s.body, -1, around);
      } else if (around >= 0 && s.target >= 0 && s.kind != statement_kind::prefetch) {
        loops_[around].stored.insert(s.target);
      }
    }
  }

  // What a value is computed from.
  struct sources {
    std::set<std::int32_t> loops;  // whose counters
    std::set<value> loads;
    bool cells = false;  // accumulators, too
  };
  const sources& sources_of(value v) {
    if (const auto known = sources_.find(v); known != sources_.end()) return known->second;
    const instruction& i = k_.instructions[v];
    sources all;
    all.cells = i.code > opcode::load;
    if (i.code == opcode::counter || i.code == opcode::run_end || i.code == opcode::lanes) all.loops.insert(i.target);
    if (i.code == opcode::load) all.loads.insert(v);
    std::vector<value> args = i.args;
    if (i.mask != none) args.push_back(i.mask);
    for (const value x : args) {
      const sources& of_x = sources_of(x);
      all.loops.insert(of_x.loops.begin(), of_x.loops.end());
      all.loads.insert(of_x.loads.begin(), of_x.loads.end());
      all.cells = all.cells || of_x.cells;
    }
    return sources_[v] = std::move(all);
  }
  bool depends_on(value v, std::int32_t loop) { return sources_of(v).cells || sources_of(v).loops.contains(loop); }
  bool loads(value v) { return sources_of(v).cells || !sources_of(v).loads.empty(); }
  bool is_counter(value v, std::int32_t loop) const {
    return k_.instructions[v].code == opcode::counter && k_.instructions[v].target == loop;
  }
  const buffer& buffer_of(std::int32_t id) const { return m_.buffers[static_cast<std::size_t>(id)]; }
  bool is_large_input(std::int32_t id, double from) const {
    return buffer_of(id).where == role::input && buffer_of(id).bytes >= from;
  }

  // ---- the same value with other counters

  struct other_counters {
    std::map<std::int32_t, value> by_loop;
    value list = none, mask = none;  // a load whose mask is another, too
  };

  // Appended to the outermost block from `depth` on that has all arguments; once there.
  value add(instruction i, std::size_t depth = 0) {
    for (const value x : i.args) depth = std::max(depth, depth_.at(x));
    if (i.mask != none) depth = std::max(depth, depth_.at(i.mask));
    std::vector<std::int64_t> key{static_cast<int>(i.code), static_cast<int>(i.type), static_cast<int>(i.what),
                                  i.target, i.dimension, i.bits, i.mask};
    key.insert(key.end(), i.args.begin(), i.args.end());
    const auto [entry, fresh] = blocks_[depth].added.try_emplace(std::move(key), none);
    if (!fresh) return entry->second;
    entry->second = blocks_[depth].block->again(std::move(i));
    depth_[entry->second] = depth;
    return entry->second;
  }
  value i64(std::int64_t n) { return add({.code = opcode::constant, .bits = n, .args = {}}); }
  value emit(op what, value x, value y) {
    const element type = gives_boolean(what) ? element::boolean : element::i64;
    return add({.code = opcode::elementwise, .type = type, .what = what, .args = {x, y}});
  }
  value select(value condition, value x, value y) {
    return add({.code = opcode::elementwise, .what = op::select, .args = {condition, x, y}});
  }

  value again(value v, const other_counters& put) {
    const bool same = std::ranges::none_of(put.by_loop, [&](const auto& p) { return depends_on(v, p.first); });
    if (same) return v;
    instruction i = k_.instructions[v];
    if (i.code == opcode::counter) return put.by_loop.at(i.target);
    if (i.mask != none) i.mask = v == put.list ? put.mask : again(i.mask, put);
    for (value& x : i.args) x = again(x, put);
    // What is loaded there is loaded in each execution of that block.
    const std::size_t depth = i.code == opcode::load ? depth_.at(v) : 0;
    return add(std::move(i), depth);
  }
  place again(place p, const other_counters& put) {
    for (value& x : p.subscripts) x = again(x, put);
    return p;
  }

  // ---- rows whose places are loaded

  bool is_in_lanes(const statement& s) const {
    if (s.kind != statement_kind::instruct) return false;
    return k_.instructions[s.id].code == opcode::load && k_.instructions[s.id].how == access::contiguous;
  }
  // All that can be, before the first load of a block: a prefetch between a load and its use keeps the two from being
  // one instruction.
  void prefetch_gathered(const block& body, std::set<value>& done, block_builder& b) {
    for (const statement& s : body) {
      if (!is_in_lanes(s) || done.contains(s.id)) continue;
      const instruction i = k_.instructions[s.id];
      if (!std::ranges::all_of(i.args, [&](value x) { return depth_.contains(x); })) continue;
      done.insert(s.id);
      prefetch_gathered(i, b);
    }
  }
  // Before the load `i`, which is in lanes along a row.
  void prefetch_gathered(const instruction& i, block_builder& b) {
    if (i.args.size() < 2 || buffer_of(i.target).where != role::input) return;
    const instruction& last = k_.instructions[i.args.back()];
    if (last.code != opcode::counter || loops_.at(last.target).kind != loop_kind::vector) return;
    std::vector<value> places;
    for (std::size_t d = 0; d + 1 < i.args.size(); ++d) {
      const sources& of_d = sources_of(i.args[d]);
      if (of_d.cells) return;
      places.insert(places.end(), of_d.loads.begin(), of_d.loads.end());
    }
    const auto counts = [&](std::int32_t loop) {
      return std::any_of(places.begin(), places.end(), [&](value v) { return depends_on(v, loop); });
    };
    const auto found = std::find_if(path_.rbegin(), path_.rend(), counts);
    if (found == path_.rend()) return;
    const amount row_bytes = loops_.at(last.target).trips * row(i.type).bytes;
    const loop_facts& loop = loops_.at(*found);
    if (loop.lanes > 1 || loop.backward || !is_large_input(i.target, least_.from_memory)) return;
    if (loop.trips < least_trips || row_bytes == 0) return;
    const auto ahead = std::max<std::int64_t>(1, floor(gathered_bytes / row_bytes).typical());
    const auto outer = std::find_if(found + 1, path_.rend(), counts);
    const other_counters put = later(*found, outer == path_.rend() ? -1 : *outer, ahead, places);
    if (put.by_loop.empty()) return;
    place next = again(place{i.target, i.args}, put);
    b.prefetch_l2(next.buffer, std::move(next.subscripts));
  }

  // Counters `ahead` iterations later. What is loaded by them must be what the program loads, too: beyond the range the
  // next slice of the list, if nothing else is loaded by its places, or else the next iteration of the outer loop, if
  // its ranges are alike.
  other_counters later(std::int32_t inner, std::int32_t outer, std::int64_t ahead, const std::vector<value>& places) {
    const loop_facts& loop = loops_.at(inner);
    std::vector<value> moved;
    for (const value v : places)
      if (depends_on(v, inner)) moved.push_back(v);
    const instruction list = k_.instructions[moved.front()];
    const bool one_list = moved.size() == 1 && list.args.size() == 1 && is_counter(list.args[0], inner) &&
                          buffer_of(list.target).where == role::input;
    if (!one_list && !all_loaded_in(moved, inner, inner)) return {};
    const bool alike = !one_list && outer >= 0 && loop.trips >= static_cast<double>(ahead) &&
                       same_in_all(inner, outer) && all_loaded_in(places, inner, outer);
    if (alike) return in_next_row(loop, inner, outer, ahead);
    const value next = emit(op::add, loop.counter, i64(ahead));
    if (!one_list) return {{{inner, emit(op::minimum, next, last_below(loop.high))}}};
    const value last = last_below(add({.code = opcode::extent, .target = list.target, .args = {}}));
    if (list.mask == none) return {{{inner, emit(op::minimum, next, last)}}};
    const value soon = emit(op::maximum, i64(0), emit(op::minimum, next, last));  // its mask had both ends
    return {{{inner, soon}}, moved.front(), emit(op::less_equal, i64(0), last)};  // the list may be empty
  }
  other_counters in_next_row(const loop_facts& loop, std::int32_t inner, std::int32_t outer, std::int64_t ahead) {
    const loop_facts& rows = loops_.at(outer);
    const value length = emit(op::sub, loop.high, loop.low), step = emit(op::minimum, length, i64(ahead));
    const value next = emit(op::add, loop.counter, step), wrapped = emit(op::sub, next, length);
    const value beyond = emit(op::less_equal, loop.high, next);
    const value following = emit(op::add, rows.counter, i64(1)), end = last_below(rows.high);
    return {{{inner, select(beyond, wrapped, next)},
             {outer, select(beyond, emit(op::minimum, following, end), rows.counter)}}};
  }
  value last_below(value end) { return emit(op::sub, end, i64(1)); }
  // Is the inner loop the same in all iterations of the outer one?
  bool same_in_all(std::int32_t inner, std::int32_t outer) {
    for (; inner != outer; inner = loops_.at(inner).home) {
      const loop_facts& loop = loops_.at(inner);
      if (loop.home < 0 || depends_on(loop.low, outer) || depends_on(loop.high, outer)) return false;
    }
    return loops_.at(outer).lanes == 1 && !loops_.at(outer).backward;
  }
  // In every iteration, and stored before them.
  bool all_loaded_in(const std::vector<value>& places, std::int32_t inner, std::int32_t outer) {
    return std::all_of(places.begin(), places.end(), [&](value v) {
      if (!depends_on(v, inner) && !depends_on(v, outer)) return true;
      const std::int32_t home = home_.at(v);
      return (home == inner || home == outer) && !loops_.at(outer).stored.contains(k_.instructions[v].target);
    });
  }

  // ---- what two loops read, one after the other

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
  // Rows of which several are read at once, before the next as many: each begins far from where the one before it of
  // the same stream ended, so hardware has to find it anew. Long rows leave it the time to, and short ones are one
  // stream.
  void next_tile(const std::vector<place>& rows, const loop_facts& loop, block_builder& b) {
    for (const place& read : rows) {
      const auto of = [&](std::int32_t each) {
        return loops_.at(each).jam > 1 &&
               std::ranges::any_of(read.subscripts, [&](value v) { return depends_on(v, each); });
      };
      const auto tiled = std::ranges::find_if(path_, of);
      if (tiled == path_.end() || loops_.at(*tiled).counter == none) continue;
      if (!(loop.trips <= short_row) || loop.trips < row_of_tile) continue;
      if (std::ranges::any_of(read.subscripts, [&](value v) { return loads(v); })) continue;
      const loop_facts& tile = loops_.at(*tiled);
      const value length = emit(op::maximum, emit(op::sub, loop.high, loop.low), i64(1));
      const std::int64_t elements = tile_bytes / row(buffer_of(read.buffer).type).bytes;
      const value tiles = emit(op::quotient, i64(elements / tile.jam), length);
      const value ahead = emit(op::mul, emit(op::add, tiles, i64(1)), i64(tile.jam));
      place next = again(read, {{{*tiled, emit(op::add, tile.counter, ahead)}}});
      b.prefetch_l2(next.buffer, std::move(next.subscripts));
    }
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
      if (std::any_of(i.args.begin(), i.args.end(), [&](value v) { return sources_of(v).cells; })) continue;
      if (along == vector && std::count_if(i.args.begin(), i.args.end(), depends) == 1)
        rows.push_back({i.target, i.args});
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
      block_builder inner(k_, &into, std::move(s));
      blocks_.push_back({&inner, {}});
      std::vector<place> rows;
      if (loop) collect(inside, number, rows);
      if (loop) path_.push_back(number);
      rewrite(std::move(inside), inner);
      if (loop) prefetch_next(number, before, done, inner);
      if (loop && loops_.at(number).kind == loop_kind::vector) next_tile(rows, loops_.at(number), inner);
      if (loop) path_.pop_back();
      blocks_.pop_back();
      inner.close();
      if (!rows.empty()) before.push_back({&loops_.at(number), number, std::move(rows)});
    }
  }

  const module& m_;
  const bytes_of_caches& least_;
  kernel_builder builder_;
  kernel& k_;
  std::map<std::int32_t, loop_facts> loops_;      // by number
  std::unordered_map<value, std::int32_t> home_;  // of loads
  std::unordered_map<value, sources> sources_;
  std::vector<std::int32_t> path_;  // the loops around
  struct open_block {
    block_builder* block;
    std::map<std::vector<std::int64_t>, value> added;
  };
  std::vector<open_block> blocks_;  // the blocks around
  std::unordered_map<value, std::size_t> depth_;  // of values: which of them
};

}  // namespace

void insert_prefetch(module& m, const bytes_of_caches& least) {
  const auto large = [&](const buffer& b) { return b.where == role::input && b.bytes >= least.from_last_cache; };
  if (std::none_of(m.buffers.begin(), m.buffers.end(), large)) return;
  for (kernel& k : m.kernels) {
    if (k.call != nullptr) continue;
    block body = std::move(k.body);
    k.body.clear();
    k = prefetcher(m, std::move(k), least)(std::move(body));
  }
}

}  // namespace sheaf::inline v0_1::ir
