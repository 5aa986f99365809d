// The loop nests of a kernel, shared between stages as far as their loops are the same. A reduction over the range of a
// loop that doesn't wait for it is a sibling of that loop: what one reads and the other writes goes through memory
// together.
#include <algorithm>
#include <tuple>
#include <utility>

#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/kernels.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

bool kernel_lowering::is_open(const entry& e) const { return e.depth == e.s->loops.size(); }

// Does it read what others of the list are still to store?
bool kernel_lowering::waits(const entry& e, std::span<const entry> others) const {
  return std::ranges::any_of(others, [&](const entry& o) { return o.s != e.s && reads(*e.s, *o.s); });
}

// The reductions of a stage that run at s and are not known there.
std::vector<node_id> kernel_lowering::unknown_reductions(const stage& each, scope& s) {
  std::vector<node_id> list;
  plan::for_each_node(g, each.how == plan::way::partial ? row_value(each) : each.body, [&](node_id n) {
    if (g.kind(n) == op::reduce && g.free[n].within(s.bound) && !find(n, s, false)) list.push_back(n);
  });
  return list;
}

// Is what n loads stored by one of the hosts, in the same iteration of their loop over idx? `bound` is what n has for
// idx.
bool kernel_lowering::storage_folded(node_id n, std::span<const entry> hosts, node_id idx, node_id bound) const {
  return std::ranges::any_of(hosts, [&](const entry& e) {
    if (g.arg(n, 0) != e.s->define || e.s->how != plan::way::map) return false;
    for (std::size_t d = 0; d < e.s->indices.size(); ++d) {
      const node_id at = g.arg(n, 1 + static_cast<int>(d)), own = e.s->indices[d];
      if (at != (own == idx ? bound : own)) return false;
    }
    return true;
  });
}

// The reductions at s over the range of idx whose values are still to be made, by what a loop of these hosts knows.
std::vector<node_id> kernel_lowering::siblings(std::span<const entry> hosts, node_id idx, scope& s) {
  std::vector<node_id> list;
  const auto consider = [&](node_id q) {
    if (g.kind(q) != op::reduce || g[q].count != 3 || !g.free[q].within(s.bound) || find(q, s, false)) return;
    const node_id bound = g.arg(q, 2);
    if (plan::keeps_several(g, q) || !plan::same_range(g, bound, idx) || s.bound.has(g.ordinal(bound))) return;
    if (&place_of(q, s) != &s || plan::lane_of(g, known, q) != bound || std::ranges::find(list, q) != list.end())
      return;
    bool ready = true;
    plan::for_each_node(g, q, [&](node_id n) {
      const bool waits = g.kind(n) == op::load && pending.contains(g.arg(n, 0));
      if (waits && !storage_folded(n, hosts, idx, bound)) ready = false;
      if (g.kind(n) == op::load && !waits && !is_whole(g.arg(n, 0), place_of(n, s))) ready = false;
      if (g.kind(n) == op::reduce && n != q && !find(n, s, false)) ready = false;
    });
    if (ready) list.push_back(q);
  };
  for (const stage* each : stages)
    if (pending.contains(each->define)) plan::for_each_node(g, each->body, consider);
  return list;
}

// Opens a loop that stages share, with its siblings.
void kernel_lowering::run_shared(std::span<const entry> group, std::span<const node_id> visiting, scope& s) {
  const stage& first = *group.front().s;
  const node_id idx = first.loops[group.front().depth];
  const int lanes = idx == first.vector ? most_lanes(group, s) : 1;
  if (idx == first.rows.part) fill(group, s);
  if (idx == first.rows.part && visiting.empty() && may_join_rows(group)) {
    std::vector<entry> shared(group.begin(), group.end());
    for (entry& e : shared) ++e.depth;
    shared_loops.push_back({&s, stored.size()});
    run_rows(shared, idx, s);
    return shared_loops.pop_back();
  }
  std::vector<ir::value> cells;
  for (const node_id q : visiting) cells.push_back(cell_of(q, s, true));
  scope inner(s, open(s, idx, lanes, s.part_of(idx)));
  inner.whole = s.part_of(idx) == nullptr;
  bind(inner, idx, lanes);
  const auto outside = std::pair(aligned, aligned_lanes);
  const bool from_constant = first.how == plan::way::map && is_constant(g, g.arg(idx, 0));
  if (lanes > 1 && from_constant && (s.part_of(idx) == nullptr || task_size % lanes == 0))
    aligned = idx, aligned_lanes = lanes;
  bind_last(group, idx, 1, inner);
  std::vector<entry> shared(group.begin(), group.end());
  for (entry& e : shared) ++e.depth;
  shared_loops.push_back({&s, stored.size()});
  nest(shared, inner);
  for (std::size_t i = 0; i < visiting.size(); ++i) {
    plan::replacement put(g, proofs::kept);
    put.add(g.arg(visiting[i], 2), idx);
    const term of = term_of(visiting[i]);
    combine_term(cells[i], visiting[i], {put(of.body), put(of.condition)}, inner);
  }
  std::tie(aligned, aligned_lanes) = outside;
  inner.close();
  shared_loops.pop_back();
  for (std::size_t i = 0; i < visiting.size(); ++i) take_result(visiting[i], cells[i], s, true);
}

// The first loop that can run, and the loops that run with it. What waits for a sibling of that loop comes later; what
// is ready and brings none comes before.
void kernel_lowering::nest(std::span<const entry> given, scope& s) {
  std::vector<entry> left(given.begin(), given.end());
  while (!left.empty()) {
    const auto next = std::ranges::find_if(left, [&](const entry& e) { return !is_open(e) && !waits(e, left); });
    if (next == left.end()) {
      const auto ready = std::ranges::find_if(left, [&](const entry& e) { return is_open(e) && !waits(e, left); });
      finish(*ready->s, s);
      left.erase(ready);
      continue;
    }
    const node_id idx = next->s->loops[next->depth];
    const bool vector = idx == next->s->vector;
    std::vector<entry> group{*next};
    std::vector<node_id> visiting;
    // What short rows are folded to comes before loops along them, which find what it left in scratch rows.
    if (scratch_rows.rows != no_node && s.lane == scratch_rows.rows)
      for (const entry& e : left)
        if (!waits(e, left))
          for (const node_id n : unknown_reductions(*e.s, s)) emit(n, s);
    if (vector && s.lane == no_node && s.part_of(idx) == nullptr) {
      for (const node_id n : unknown_reductions(*next->s, s)) emit(n, s);
      visiting = siblings(group, idx, s);
    }
    const auto visits = [&](const entry& e) {
      for (const node_id n : unknown_reductions(*e.s, s))
        if (std::ranges::find(visiting, n) != visiting.end()) return true;
      return false;
    };
    const auto done =
        std::ranges::find_if(left, [&](const entry& e) { return is_open(e) && !waits(e, left) && !visits(e); });
    if (done != left.end()) {
      finish(*done->s, s);
      left.erase(done);
      continue;
    }
    for (const entry& e : left)
      if (e.s != group.front().s && joins(e, group, left) && !visits(e)) group.push_back(e);
    run_shared(group, visiting, s);
    std::erase_if(
        left, [&](const entry& e) { return std::ranges::any_of(group, [&](const entry& o) { return o.s == e.s; }); });
  }
}

// The same loop, in which each reads of the others only what the iteration stores.
bool kernel_lowering::joins(const entry& e, std::span<const entry> group, std::span<const entry> left) const {
  if (is_open(e)) return false;
  const stage &first = *group.front().s, &s = *e.s;
  const node_id idx = first.loops[group.front().depth];
  const bool vector = idx == first.vector;
  if (s.loops[e.depth] != idx || (idx == s.vector) != vector || (vector && s.lanes != first.lanes)) return false;
  for (const entry& o : left) {
    if (o.s == e.s) break;
    if (!reads(s, *o.s)) continue;
    const bool inside = std::ranges::any_of(group, [&](const entry& each) { return each.s == o.s; });
    const bool moving = idx == s.rows.part && moves_with(s, *o.s);
    if (!inside || (!moving && !plan::reads_only_at(g, s, *o.s, idx))) return false;
  }
  return true;
}

}  // namespace sheaf::inline v0_1::lower
