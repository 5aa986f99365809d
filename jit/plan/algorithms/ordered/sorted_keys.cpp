#include <sheaf/jit/plan/algorithms/ordered/sorted_keys.hpp>

#include <algorithm>

#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/ranges.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

node_id twice(graph& g, node_id n) { return make(g, op::mul, n, integer(g, 2)); }

sorted_keys made_by(graph& g, const stage& s) {
  const node_id count = s.sort.room;
  return {s.define, s.sort.memory, count, proven(g, load_at(g, s.define, {twice(g, count)}))};
}

}  // namespace

node_id sorted_keys::place(graph& g, node_id n) const { return proven(g, load_at(g, places, {n})); }
node_id sorted_keys::key(graph& g, node_id n) const { return load_at(g, keys, {n}); }

sorted_keys sorted(const context& c, const keys_to_sort& all, node_id when) {
  graph& g = c.g;
  const index_set taken = indices_in(g, all.key);
  const node_id walk = unused_index(g, all.t, all.low, make(g, op::add, all.low, all.count), taken);
  const node_id key = with(g, all.key, all.t, walk, proofs::kept);
  for (const stage& s : c.before)
    if (s.how == way::order && s.body == key && s.sort.outer == walk && s.when == when) return made_by(g, s);
  const node_id zero = integer(g, 0), both = twice(g, all.count);
  stage memory = space(g, "sorted", identity_of(g, monoid::max, g.type(key)), {fresh_index(g, walk, zero, both)});
  stage s;
  s.how = way::order;
  s.indices = {fresh_index(g, walk, zero, plus(g, both, 1))};
  s.when = when;
  s.sort.memory = memory.define;
  s.sort.outer = walk;
  s.sort.room = all.count;
  s.body = walk;  // it stores places
  define_stage(g, s, "order");
  s.body = key;
  const amount count = c.known.trips(walk);
  s.bytes = count * (16.0 + 2 * row(g.type(key)).bytes);
  s.operations = count * tuning::ordered_keys::operations_of_sort;
  s.reasons.push_back("keys that do not ascend, and their places, in the order of the keys");
  c.before.push_back(std::move(memory));
  c.before.push_back(std::move(s));
  return made_by(g, c.before.back());
}

}  // namespace sheaf::inline v0_1::plan
