// Rows that data names lie anywhere: a loop over the names prefetches the row of a later one.
#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

using tuning::prefetch::gathered_bytes, tuning::prefetch::least_trips;

}  // namespace

// What follows the rows that idx names: beyond a slice of names those after it, beyond a row of names the row of the
// next iteration.
plan::replacement kernel_lowering::later_names(node_id idx, std::int64_t ahead, scope& inner,
                                              proofs of_loads) {
  plan::replacement later(g, of_loads);
  const node_id next = make(g, op::add, idx, integer(g, ahead)), low = g.arg(idx, 0), high = g.arg(idx, 1);
  const node_id last = make(g, op::add, high, integer(g, -1));
  node_id names = no_node;
  for (const stage* s : stages)
    plan::for_each_node(g, s->body, [&](node_id n) {
      if (g.kind(n) == op::load && g[n].count == 2 && g.arg(n, 1) == idx && g.kind(g.arg(n, 0)) == op::input)
        names = extent(g, g.arg(n, 0), 0);
    });
  const bool rows = row_index != no_node && inner.bound.has(g.ordinal(row_index)) && row_index != inner.lane;
  index_set around = g.free[idx];
  around.erase(g.ordinal(idx));
  if (names != no_node && (around.empty() || plan::holds(g, high, op::load)) && idx != row_index) {
    later.add(idx, make(g, op::minimum, next, make(g, op::add, names, integer(g, -1))));
  } else if (rows && g.free[high].empty() && g.free[low].empty() && known.trips(idx) >= static_cast<double>(ahead)) {
    const node_id beyond = make(g, op::less, last, next), end = make(g, op::add, g.arg(row_index, 1), integer(g, -1));
    const node_id following = make(g, op::minimum, make(g, op::add, row_index, integer(g, 1)), end);
    later.add(idx, make(g, op::select, beyond, make(g, op::sub, next, make(g, op::sub, high, low)), next));
    later.add(row_index, make(g, op::select, beyond, following, row_index));
  } else {
    later.add(idx, make(g, op::minimum, next, last));
  }
  return later;
}

// `inner`: the body of the innermost loop of these reductions, whose results have lanes.
void kernel_lowering::prefetch_gathered(std::span<const node_id> reductions, scope& inner) {
  const node_id idx = plan::bound_indices(g, reductions.front()).back();
  const node_id last = make(g, op::add, g.arg(idx, 1), integer(g, -1));
  if (known.trips(idx) < least_trips || !g.free[last].within(inner.bound)) return;
  std::unordered_set<node_id> asked;
  const auto ask = [&](node_id n) {
    const node_id tensor = g.arg(n, 0);
    if (g.kind(tensor) != op::input || g[n].count < 3 || g.arg(n, g[n].count - 1) != inner.lane) return;
    if (known.bytes(tensor) < known.call().on.from_memory() || !buffer(buffers.at(tensor)).unit_inner ||
        !g.free[n].within(inner.bound))
      return;
    // Rows one after the other, whatever bounds data gives them, are left to the hardware prefetcher.
    const auto names = plan::index_operands(g, n);
    const auto by_index = [&](node_id name) { return g.free[name].has(g.ordinal(idx)); };
    if (std::none_of(names.begin(), names.end(), by_index) || plan::holds(g, n, op::reduce)) return;
    const auto row = static_cast<std::int64_t>(known.trips(inner.lane)) * sheaf::row(g.type(n)).bytes;
    const std::int64_t ahead = std::max<std::int64_t>(1, gathered_bytes / std::max<std::int64_t>(row, 1));
    plan::replacement later = later_names(idx, ahead, inner, proofs::kept);
    std::vector<ir::value> subscripts;
    const node_id next = later(n);
    if (!asked.insert(next).second) return;
    for (int d = 1; d < g[next].count; ++d) subscripts.push_back(emit(g.arg(next, d), inner, true));
    inner.block->prefetch_l2(buffers.at(tensor), std::move(subscripts));
  };
  for (const node_id q : reductions)
    plan::for_each_node(g, g.arg(q, 0), [&](node_id n) {
      if (g.kind(n) == op::load) ask(n);
    });
}

namespace {

namespace compacted = tuning::compacted;

// How many places an index has at most: its range is known, or a block of known size cut to one. 0: it may be any
// number.
std::int64_t most_places(graph& g, const plan::facts& known, node_id idx) {
  const node_id low = g.arg(idx, 0), high = g.arg(idx, 1);
  const auto first = known.value(low), end = known.value(high);
  if (first && end) return *end - *first;
  for (int k = 0; k < 2 && g.kind(high) == op::minimum; ++k) {
    const node_id size = make(g, op::sub, g.arg(high, k), low);
    if (is_constant(g, size)) return g[size].attribute;
  }
  return 0;
}

}  // namespace

// Rows under a mask: a loop over all of them would stop at each for the question, and wait for each that is wanted. The
// places where the condition holds are listed before, outside the lanes.
std::optional<kernel_lowering::compacted_list> kernel_lowering::compacted_list_of(std::span<const node_id> reductions,
                                                                                  scope& at) {
  const node_id condition = g.arg(reductions.front(), 1), idx = g.arg(reductions.front(), 2);
  if (known.call().gpu || at.lane == no_node || g[reductions.front()].count != 3 || is_true(g, condition))
    return std::nullopt;
  for (const node_id q : reductions)
    if (g.arg(q, 1) != condition) return std::nullopt;
  const std::int64_t places = most_places(g, known, idx);
  if (places < compacted::least_places || places > compacted::most_places ||
      known.trips(at.lane) < compacted::least_lanes)
    return std::nullopt;
  const auto [loop, outside] = lane_loop(at);
  index_set around = g.free[condition];
  around |= g.free[idx];
  around.erase(g.ordinal(idx));
  if (outside == nullptr || outside->lane != no_node || !around.within(outside->bound) ||
      !plan::may_vectorise(g, condition, idx))
    return std::nullopt;
  bool by_data = false, plain = !plan::holds(g, condition, op::reduce);
  plan::for_each_node(g, condition, [&](node_id n) {
    if (g.kind(n) != op::load) return;
    plain = plain && !pending.contains(g.arg(n, 0));
    if (!g.free[n].has(g.ordinal(idx))) return;
    by_data = true;
    for (int d = 1; d + 1 < g[n].count; ++d) plain = plain && !g.free[g.arg(n, d)].has(g.ordinal(idx));
    plain = plain && g.arg(n, g[n].count - 1) == idx && buffer(buffers.at(g.arg(n, 0))).unit_inner;
  });
  if (!by_data || !plain) return std::nullopt;
  const auto found = compacted_lists.find({idx, condition});
  if (found != compacted_lists.end() && found->second.outside == outside->number) return found->second;
  const std::int64_t elements =
      (places + compacted::least_places - 1) / compacted::least_places * compacted::least_places;
  const std::int32_t id = ir::add_buffer(code, {.name = "compacted",
                                                .type = element::i64,
                                                .rank = 1,
                                                .where = ir::role::local,
                                                .elements = elements,
                                                .unit_inner = true,
                                                .extents = {elements}});
  const ir::value count = outside->block->accumulator(element::i64, monoid::sum, false);
  scope walk(*outside, open(*outside, idx, compacted::least_places, nullptr, "_mask"));
  bind(walk, idx, compacted::least_places);
  walk.block->append(id, count, emit(condition, walk));
  walk.close();
  return compacted_lists[{idx, condition}] = {id, outside->block->read(count), outside->number};
}

void kernel_lowering::prefetch_compacted(std::span<const node_id> reductions, const compacted_list& kept,
                                         scope& inner) {
  const node_id idx = g.arg(reductions.front(), 2);
  std::vector<node_id> rows;
  for (const node_id q : reductions)
    plan::for_each_node(g, g.arg(q, 0), [&](node_id n) {
      if (g.kind(n) != op::load || g.kind(g.arg(n, 0)) != op::input || g[n].count < 3 ||
          g.arg(n, g[n].count - 1) != inner.lane)
        return;
      if (known.bytes(g.arg(n, 0)) < known.call().on.from_memory() || !buffer(buffers.at(g.arg(n, 0))).unit_inner ||
          !g.free[n].within(inner.bound))
        return;
      if (g.free[n].has(g.ordinal(idx)) && !plan::holds(g, n, op::reduce) &&
          std::find(rows.begin(), rows.end(), n) == rows.end())
        rows.push_back(n);
    });
  if (rows.empty()) return;
  const std::int64_t row = static_cast<std::int64_t>(known.trips(inner.lane)) * sheaf::row(g.type(rows.front())).bytes;
  ir::block_builder& b = *inner.block;
  const ir::value ahead = b.i64(std::max<std::int64_t>(1, gathered_bytes / std::max<std::int64_t>(row, 1)));
  const ir::value last = b.emit(op::sub, {kept.count, b.i64(1)}), next = b.emit(op::add, {b.counter(), ahead});
  const node_id later = plan::fresh_index(g, idx, g.arg(idx, 0), g.arg(idx, 1));
  inner.bound.insert(g.ordinal(later));
  inner.values[2 * std::int64_t{later}] = b.load(kept.buffer, element::i64, {b.emit(op::minimum, {next, last})});
  plan::replacement put(g, proofs::kept);
  put.add(idx, later);
  for (const node_id n : rows) {
    std::vector<ir::value> list;
    for (int d = 1; d < g[n].count; ++d) list.push_back(emit(put(g.arg(n, d)), inner, true));
    b.prefetch_l2(buffers.at(g.arg(n, 0)), std::move(list));
  }
}

// `inner`: the body of a reduction whose own lanes run along a row that data names, by an index of the loops around:
// the row of a later iteration.
void kernel_lowering::prefetch_named_row(node_id reduce, scope& at, scope& inner) {
  std::vector<std::pair<node_id, node_id>> rows;  // loads, and the index that their names are subscripted by
  const auto consider = [&](node_id n) {
    if (g.kind(n) != op::load || g.kind(g.arg(n, 0)) != op::input || g[n].count < 3 ||
        g.arg(n, g[n].count - 1) != inner.lane)
      return;
    if (known.bytes(g.arg(n, 0)) < known.call().on.from_memory() || !buffer(buffers.at(g.arg(n, 0))).unit_inner ||
        plan::holds(g, n, op::reduce))
      return;
    for (int d = 1; d + 1 < g[n].count; ++d) {
      const node_id name = g.arg(n, d);
      if (g.kind(name) != op::load || g.kind(g.arg(name, 0)) != op::input || g[name].count != 2) continue;
      if (g.kind(g.arg(name, 1)) == op::index && at.bound.has(g.ordinal(g.arg(name, 1))))
        return rows.emplace_back(n, g.arg(name, 1)), void();
    }
  };
  plan::for_each_node(g, g.arg(reduce, 0), consider);
  for (const auto& [n, idx] : rows) {
    const std::int64_t row = static_cast<std::int64_t>(known.trips(inner.lane)) * sheaf::row(g.type(n)).bytes;
    plan::replacement later =
        later_names(idx, std::max<std::int64_t>(1, gathered_bytes / std::max<std::int64_t>(row, 1)), inner);
    const node_id next = later(n);
    std::vector<ir::value> subscripts;
    for (int d = 1; d < g[next].count; ++d) subscripts.push_back(emit(g.arg(next, d), inner, true));
    inner.block->prefetch_l2(buffers.at(g.arg(n, 0)), std::move(subscripts));
  }
}

}  // namespace sheaf::inline v0_1::lower
