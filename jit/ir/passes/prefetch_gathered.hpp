// Part of pass `insert_prefetch`: rows whose places are loaded, as data names them. Before a load in lanes along such a
// row, the row of a later iteration of the loop that counts the places.
#pragma once
#include <sheaf/jit/ir/passes/loop_values.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::ir {

class gathered_rows : protected loop_values {
 protected:
  using loop_values::loop_values;

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
      return std::ranges::any_of(places, [&](value v) { return depends_on(v, loop); });
    };
    const auto found = std::find_if(path_.rbegin(), path_.rend(), counts);
    if (found == path_.rend()) return;
    const amount row_bytes = loops_.at(last.target).trips * row(i.type).bytes;
    const loop_facts& loop = loops_.at(*found);
    if (loop.lanes > 1 || loop.backward || !is_large_input(i.target, least_.from_memory)) return;
    if (loop.trips < tuning::prefetch::least_trips || row_bytes == 0) return;
    const auto ahead = std::max<std::int64_t>(1, floor(tuning::prefetch::gathered_bytes / row_bytes).typical());
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
    return std::ranges::all_of(places, [&](value v) {
      if (!depends_on(v, inner) && !depends_on(v, outer)) return true;
      const std::int32_t home = home_.at(v);
      return (home == inner || home == outer) && !loops_.at(outer).stored.contains(k_.instructions[v].target);
    });
  }
};

}  // namespace sheaf::inline v0_1::ir
