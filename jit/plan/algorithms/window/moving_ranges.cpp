#include <sheaf/jit/plan/algorithms/window/moving_ranges.hpp>

#include <algorithm>

#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/stencil/small_windows.hpp>
#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/difference.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace numerics::moving_ranges;

class moved_by_lanes {
 public:
  moved_by_lanes(const context& c, const stage& s) : g_(c.g), known_(c.known), lane_(s.indices.back()) {}

  // The stage's value with one range for all results of a row; no_node: lanes cannot go along them.
  node_id operator()(node_id body) {
    bool any = false;
    for (bool again = true; again;) {
      again = false;
      for (const node_id n : reductions_in(g_, body)) {
        const node_id idx = moved_by_lane(n);
        if (idx == no_node) continue;
        const node_id made = counted(n, idx);
        if (made == no_node) return no_node;
        body = with(g_, body, n, made);
        any = again = true;
        break;
      }
    }
    return any && may_vectorise(g_, body, lane_) && goes_along_results(body) ? body : no_node;
  }

 private:
  struct range {
    node_id base = no_node, places = no_node;
  };

  node_id moved_by_lane(node_id n) const {
    for (const node_id idx : bound_indices(g_, n))
      if (g_.free[idx].has(g_.ordinal(lane_))) return idx;
    return no_node;
  }
  // From one of the low ends to one of the high ends, where they move alike, or not at all: as many places for all
  // results, and hardly more than a range in the middle has. What is as long as the row of results is no window of it.
  range window_of(node_id idx) const {
    const auto typical = places_in_middle(idx);
    std::vector<node_id> lows, highs;
    arms(g_, g_.arg(idx, 0), op::maximum, lows);
    arms(g_, g_.arg(idx, 1), op::minimum, highs);
    for (const node_id low : lows)
      for (const node_id high : highs) {
        const node_id places = difference(g_, high, low);
        if (places == no_node || !g_.free[places].empty() || holds(g_, low, op::load)) continue;
        const node_id row = difference(g_, g_.arg(lane_, 1), g_.arg(lane_, 0));
        if (row != no_node && known_equal(g_, places, row)) continue;
        const auto all = known_.value(places);
        if (all && typical && is_short(*all, *typical)) return {low, places};
      }
    return {};
  }
  bool is_short(const amount& places, const amount& typical) const {
    const amount row = known_.trips(lane_);
    return all_of({{most_idle * typical, places}, {most_places, places}, {row, row_of_places * places}});
  }
  // Of a range, where the indices that move it are in the middle of theirs.
  std::optional<amount> places_in_middle(node_id idx) const {
    node_id places = make(g_, op::sub, g_.arg(idx, 1), g_.arg(idx, 0));
    while (!g_.free[places].empty()) {
      replacement put(g_);
      for (const node_id other : indices_of(g_, g_.free[places]))
        put.add(other, make(g_, op::quotient, make(g_, op::add, g_.arg(other, 0), g_.arg(other, 1)), integer(g_, 2)));
      places = put(places);
    }
    return holds(g_, places, op::load) ? std::nullopt : known_.value(places);
  }
  node_id counted(node_id n, node_id idx) {
    const range r = window_of(idx);
    const node_id condition = g_.arg(n, 1);
    if (r.base == no_node || !reads_nothing(condition) || row(monoid_of(g_, n)).position || is_own(monoid_of(g_, n)))
      return no_node;
    std::vector<node_id> bound = bound_indices(g_, n);
    const auto [found, is_new] = counted_.try_emplace(idx, no_node);  // sums over one range keep one loop
    if (is_new) found->second = fresh_index(g_, idx, integer(g_, 0), r.places);
    const node_id place = found->second;
    std::ranges::replace(bound, idx, place);
    for (const node_id other : bound)
      if (other != place && g_.free[other].has(g_.ordinal(idx))) return no_node;
    const node_id at = make(g_, op::add, r.base, place);
    const node_id inside = range_condition(g_, at, g_.arg(idx, 0), g_.arg(idx, 1));
    replacement put(g_, proofs::known);  // elsewhere it may read what is outside: the condition guards it
    put.add(idx, at);
    const auto simplified = [&](node_id e) { return simplified_term(g_, e, {}, lane_); };
    return intern_reduce(g_, monoid_of(g_, n), g_.type(n), simplified(put(g_.arg(n, 0))),
                         simplified(conjunction(g_, inside, put(condition))), bound);
  }
  bool reads_nothing(node_id condition) const {
    return !any_node(g_, condition, [&](node_id e) { return g_.kind(e) == op::load || g_.kind(e) == op::reduce; });
  }
  bool goes_along_results(node_id body) const {
    const std::vector<node_id> loads = loads_in(g_, body);
    return std::ranges::all_of(loads,
                               [&](node_id n) { return !uses(g_, n, lane_) || goes_along(g_, known_, n, lane_); });
  }

  graph& g_;
  const facts& known_;
  const node_id lane_;
  std::unordered_map<node_id, node_id> counted_;  // by the index that a lane moves
};

}  // namespace

bool take_moving_ranges(const context& c, stage& s) {
  if (s.how != way::map || s.indices.empty() || s.where == place::check || c.known.for_groups()) return false;
  if (s.rows.whole != no_node || s.rows.block != no_node) return false;  // a block of rows is walked once
  const std::vector<node_id> all = reductions_in(c.g, s.body);
  const bool moves = std::ranges::any_of(all, [&](node_id n) {
    return std::ranges::any_of(bound_indices(c.g, n),
                               [&](node_id idx) { return c.g.free[idx].has(c.g.ordinal(s.indices.back())); });
  });
  if (!moves || c.known.bits().trips(s.indices.back()) < least_results) return false;
  const node_id body = moved_by_lanes(c, s)(s.body);
  if (body == no_node) return false;
  s.body = body;
  return true;
}

}  // namespace sheaf::inline v0_1::plan
