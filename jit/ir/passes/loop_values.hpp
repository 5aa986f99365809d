// What the parts of pass `insert_prefetch` share: loops and values of a kernel as it was, and the same values again
// under other counters, in the kernel as it becomes.
#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include <sheaf/jit/ir/builder.hpp>
#include <sheaf/jit/ir/passes/bytes_of_caches.hpp>

namespace sheaf::inline v0_1::ir {

class loop_values {
 protected:
  loop_values(const module& m, kernel numbered, const bytes_of_caches& least)
      : m_(m), least_(least), builder_(std::move(numbered)), k_(builder_.under_construction()) {}

  // What a load reads of a buffer.
  struct place {
    std::int32_t buffer;
    std::vector<value> subscripts;
    auto operator<=>(const place&) const = default;
  };

  // ---- what is known of the kernel as it was

  struct loop_facts {
    loop_kind kind;
    value low, high, counter = none;
    std::int32_t lanes;
    amount trips;
    bool backward;
    std::int32_t home;  // as of loads
    std::int32_t jam;
    std::set<std::int32_t> stored;  // buffers
  };

  // `home`: the loop of whose every iteration these statements are; -1 outside of loops and beneath a guard.
  void note(const block& body, std::int32_t home, std::int32_t around) {
    for (const statement& s : body) {
      if (s.kind == statement_kind::instruct) {
        const instruction& i = k_.instructions[s.id];
        if (i.code == opcode::counter && loops_.at(i.target).counter == none) loops_.at(i.target).counter = s.id;
        if (i.code == opcode::load) home_[s.id] = home, ++readers_[i.target];
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
    std::vector<std::int64_t> key{static_cast<int>(i.code),
                                  static_cast<int>(i.type),
                                  static_cast<int>(i.what),
                                  i.target,
                                  i.dimension,
                                  i.bits,
                                  i.mask};
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

  const module& m_;
  const bytes_of_caches& least_;
  kernel_builder builder_;
  kernel& k_;
  std::map<std::int32_t, loop_facts> loops_;      // by number
  std::unordered_map<value, std::int32_t> home_;  // of loads
  std::unordered_map<std::int32_t, int> readers_;  // loads of a buffer
  std::unordered_map<value, sources> sources_;
  std::vector<std::int32_t> path_;  // the loops around
  struct open_block {
    block_builder* block;
    std::map<std::vector<std::int64_t>, value> added;
  };
  std::vector<open_block> blocks_;                // the blocks around
  std::unordered_map<value, std::size_t> depth_;  // of values: which of them
};

}  // namespace sheaf::inline v0_1::ir
