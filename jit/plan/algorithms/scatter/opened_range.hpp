// A sum over a range that an index of the result bounds, under a condition of data that bounds it as well: as the
// gradient of windows that begin where data says and end at their own place, sum(t.in(s, n).where(low(t) <= s), ...).
// Over all of t, with both bounds as conditions, it is a range scatter, which walks the few s of each t, not all t for
// each s. Shown by tests/jit/ragged.cpp.
#pragma once
#include <algorithm>

#include <sheaf/jit/plan/algorithms/stencil/small_windows.hpp>
#include <sheaf/jit/plan/closed_bounds.hpp>
#include <sheaf/jit/plan/difference.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

class opened_range {
 public:
  opened_range(graph& g, const facts& known, node_id n, node_id j) : g_(g), known_(known), n_(n), j_(j) {}

  // The sum with the range that j bounds as a condition; n itself where there is none, or it has few places.
  node_id operator()() {
    const std::vector<node_id> bound = bound_indices(g_, n_);
    const auto bounded = [&](node_id idx) { return uses(g_, idx, j_); };
    if (std::ranges::count_if(bound, bounded) != 1 || is_folded_in_order(g_, n_) || keeps_several(g_, n_)) return n_;
    const node_id t = *std::ranges::find_if(bound, bounded);
    const node_id low = g_.arg(t, 0), high = g_.arg(t, 1);
    if (holds(g_, low, op::load) || holds(g_, high, op::load)) return n_;  // of any length
    if (!asks_data() || std::ranges::any_of(bound, [&](node_id idx) { return idx != t && uses(g_, idx, t); }) ||
        has_few_places(low, high))
      return n_;
    const node_id least = closed_bounds_of(g_, low).least, most = closed_bounds_of(g_, high).most;
    if (least == no_node || most == no_node) return n_;
    const node_id whole = unused_index(g_, t, least, most, indices_in(g_, n_));
    node_id condition = truth(g_, true);
    std::vector<node_id> ends;
    arms(g_, low, op::maximum, ends);
    for (const node_id end : ends)
      if (end != least) condition = conjunction(g_, condition, make(g_, op::less_equal, end, whole));
    ends.clear();
    arms(g_, high, op::minimum, ends);
    for (const node_id end : ends)
      if (end != most) condition = conjunction(g_, condition, make(g_, op::less, whole, end));
    replacement put(g_, walks_all(low, high, least, most) ? proofs::kept : proofs::known);
    put.add(t, whole);
    std::vector<node_id> indices;
    for (const node_id idx : bound) indices.push_back(idx == t ? whole : idx);
    return intern_reduce(g_, monoid_of(g_, n_), g_.type(n_), put(g_.arg(n_, 0)),
                         conjunction(g_, condition, put(g_.arg(n_, 1))), indices);
  }

 private:
  // Does data of the terms say for which places of j they are?
  bool asks_data() const {
    flat<node_id> list;
    deltas::conjuncts(g_, g_.arg(n_, 1), list);
    const index_set bound = set_of(g_, bound_indices(g_, n_));
    return std::ranges::any_of(list, [&](node_id c) {
      const bool compares = g_.kind(c) == op::less || g_.kind(c) == op::less_equal;
      return compares && g_.type(g_.arg(c, 0)) == element::i64 && uses(g_, c, j_) && g_.free[c].meets(bound) &&
             holds(g_, c, op::load);
    });
  }
  // Is each place of the whole range one of t for some j, if there is any? What is proven of t holds for it then.
  bool walks_all(node_id low, node_id high, node_id least, node_id most) const {
    const node_id first = g_.arg(j_, 0), end = g_.arg(j_, 1);
    const bool up = low == j_ && high == most && known_less_equal(g_, most, end);
    const bool down = low == least && (high == j_ || high == plus(g_, j_, 1)) && known_less_equal(g_, first, least);
    return up || down;
  }
  bool has_few_places(node_id low, node_id high) const {
    const node_id length = difference(g_, high, low);
    const node_id most = length == no_node ? no_node : closed_bounds_of(g_, length).most;
    if (most == no_node || is_constant(g_, most)) return most != no_node;
    const auto longest = known_.value(most);
    return !longest || *longest * tuning::range_scatter::slices_in_result <= known_.trips(j_);
  }

  graph& g_;
  const facts& known_;
  const node_id n_, j_;
};

}  // namespace sheaf::inline v0_1::plan
