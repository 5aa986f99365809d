// Rows under a mask: lists of the places where it holds.
#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

namespace compacted = tuning::compacted;

// How many places an index has at most: its range is known, or a block of known size cut to one. 0: it may be any
// number.
std::int64_t most_places(graph& g, const plan::facts& known, node_id idx) {
  const node_id low = g.arg(idx, 0), high = g.arg(idx, 1);
  const auto first = known.value(low), end = known.value(high);
  if (first && end) {
    const plan::amount size = *end - *first;
    if (size.record() == nullptr) return size.whole();
    const bool fits = size <= compacted::most_places && size.is_at_most(compacted::most_places);
    return fits && size >= compacted::least_places ? compacted::most_places : 0;
  }
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
  note("places of " + index_text(idx) + " where a condition holds are listed before the lanes walk them");
  const std::int32_t id = ir::add_local(code, "compacted", element::i64, elements);
  const ir::value count = outside->block->accumulator(element::i64, monoid::sum, false);
  scope walk(*outside, open(*outside, idx, compacted::least_places, nullptr, "_mask"));
  bind(walk, idx, compacted::least_places);
  walk.block->append(id, count, emit(condition, walk));
  walk.close();
  return compacted_lists[{idx, condition}] = {id, outside->block->read(count), outside->number};
}

}  // namespace sheaf::inline v0_1::lower
