// Conditions that bound an index of the result by others, of which no index of the sum is solved: as those of the
// gradient of what reads x(i * (i + 1) / 2 + j), 0 <= k - i * (i + 1) / 2 and k - i * (i + 1) / 2 <= i. With k alone on
// one side two of them are the slices of a range scatter, which walks the few k of each i, not all i for each k.
// Where a slice leaves i64, neither its conditions hold nor has it places: both ends go with the same number.
// Shown by tests/jit/index_digits.cpp.
#pragma once
#include <optional>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/algorithms/stencil/small_windows.hpp>
#include <sheaf/jit/plan/closed_bounds.hpp>
#include <sheaf/jit/plan/difference.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

class isolated_result {
 public:
  isolated_result(graph& g, const facts& known, node_id n, node_id j) : g_(g), known_(known), n_(n), j_(j) {}

  // The places of j that a term is for, [low, high), and the conjuncts that say nothing else.
  struct slice {
    node_id low = no_node, high = no_node, length = no_node;
    std::vector<node_id> said;
  };
  // Where the slices are known to be short beside all of j, or are of any length.
  enum class lengths { few, any };
  std::optional<slice> slice_of(lengths wanted = lengths::few) {
    flat<node_id> list;
    deltas::conjuncts(g_, g_.arg(n_, 1), list);
    for (const node_id c : list) take_bound(c);
    for (const bound& low : lows_)
      for (const bound& high : highs_) {
        const node_id length = difference(g_, high.end, low.end);
        if (length == no_node || !(wanted == lengths::any || is_short(length))) continue;
        slice found{low.end, high.end, length, {}};
        for (const bound* b : {&low, &high})
          if (b->whole) found.said.push_back(b->conjunct);
        return found;
      }
    return std::nullopt;
  }

  // The reduction with low <= j && j < high; n itself where there is no such slice.
  node_id operator()(lengths wanted = lengths::few) {
    const std::optional<slice> found = slice_of(wanted);
    if (!found) return n_;
    node_id all = conjunction(g_, make(g_, op::less_equal, found->low, j_), make(g_, op::less, j_, found->high));
    flat<node_id> list;
    deltas::conjuncts(g_, g_.arg(n_, 1), list);
    for (const node_id c : list)
      if (std::ranges::find(found->said, c) == found->said.end()) all = conjunction(g_, all, c);
    return intern_reduce(g_, monoid_of(g_, n_), g_.type(n_), g_.arg(n_, 0), all, bound_indices(g_, n_));
  }

 private:
  struct bound {
    node_id end, conjunct;
    bool whole;  // says all that the conjunct does
  };

  bool is_short(node_id length) const {
    const node_id most = closed_bounds_of(g_, length).most;
    const auto longest = most == no_node ? std::nullopt : known_.value(most);
    return longest && *longest * tuning::range_scatter::slices_in_result <= known_.trips(j_);
  }

  // Is each load inside, or the same in all terms? One that is not inside masks itself: what guards it guards the sum.
  bool is_guarded(node_id c, const index_set& bound_here) {
    return !holds(g_, c, op::reduce) && std::ranges::all_of(loads_in(g_, c), [&](node_id l) {
      return is_inside(g_, l) || !g_.free[l].meets(bound_here);
    });
  }
  // A comparison as one of j with what the indices of the sum decide.
  void take_bound(node_id c) {
    const bool strict = g_.kind(c) == op::less;
    if ((!strict && g_.kind(c) != op::less_equal) || g_.type(g_.arg(c, 0)) != element::i64) return;
    const index_set bound_here = set_of(g_, bound_indices(g_, n_));
    if (!g_.free[c].meets(bound_here) || (may_fail(g_, c) && !is_guarded(c, bound_here))) return;
    const line a = split_affine(g_, g_.arg(c, 0), j_), b = split_affine(g_, g_.arg(c, 1), j_);
    const std::int64_t slope = a.slope - b.slope;
    if (!a.affine || !b.affine || (slope != 1 && slope != -1)) return;
    const bool ends = slope > 0;
    const node_id rest = ends ? make(g_, op::sub, b.rest, a.rest) : make(g_, op::sub, a.rest, b.rest);
    std::vector<node_id> all;
    arms(g_, rest, ends ? op::minimum : op::maximum, all);
    for (const node_id arm : all)
      (ends ? highs_ : lows_).push_back({strict == ends ? arm : plus(g_, arm, 1), c, all.size() == 1});
  }

  graph& g_;
  const facts& known_;
  const node_id n_, j_;
  std::vector<bound> lows_, highs_;
};

}  // namespace sheaf::inline v0_1::plan
