// A sum behind a condition of its results, select(c, sum, 0), as one that has no places where c does not hold: what it
// reads is then inside wherever it is evaluated, so that it can be a scatter. So are the gradients of what is read
// padded, at data of a tensor that has the batches of another one.
// Shown by tests/jit/updates.cpp.
#pragma once
#include <unordered_set>

#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

class sum_behind_condition {
 public:
  sum_behind_condition(graph& g, node_id body) : g_(g), body_(body) {}

  // The body itself where it is none, or would read outside all the same.
  node_id operator()() {
    if (g_.kind(body_) != op::select || !is_number(g_, g_.arg(body_, 2), 0) || g_.kind(g_.arg(body_, 1)) != op::reduce)
      return body_;
    const node_id condition = g_.arg(body_, 0), sum = g_.arg(body_, 1);
    if (monoid_of(g_, sum) != monoid::sum || holds(g_, condition, op::load) || holds(g_, condition, op::reduce))
      return body_;
    deltas::conjuncts(g_, condition, said_);
    const node_id proved = with_proofs(sum);
    return !needs_condition_ ? body_ : within(proved, conjunction(g_, condition, of_extents_));
  }

 private:
  bool is_said(node_id load) const {
    flat<node_id> list;
    deltas::conjuncts(g_, inside_condition(g_, load), list);
    return std::ranges::all_of(list, [&](node_id c) {
      return std::ranges::find(said_, c) != said_.end() || (g_.free[c].empty() && !holds(g_, c, op::load));
    });
  }
  // Of numbers among the subscripts, which are asked with the condition.
  node_id extents_of(node_id load) {
    flat<node_id> list;
    deltas::conjuncts(g_, inside_condition(g_, load), list);
    node_id all = truth(g_, true);
    for (const node_id c : list)
      if (g_.free[c].empty())
        all = conjunction(g_, all, c);
      else
        needs_condition_ = true;
    return all;
  }

  // With its loads inside as the condition says; `where_` has the indices that all of those depend on.
  node_id with_proofs(node_id sum) {
    where_ = set_of(g_, bound_indices(g_, sum));
    of_extents_ = truth(g_, true);
    for (std::unordered_set<node_id> tried;;) {
      const std::vector<node_id> loads = loads_in(g_, sum);
      const auto load =
          std::ranges::find_if(loads, [&](node_id l) { return !tried.contains(l) && !is_inside(g_, l) && is_said(l); });
      if (load == loads.end()) return sum;
      tried.insert(*load);
      replacement put(g_, g_.free[*load]);  // in a reduction over these it is another one
      put.keep_proofs();
      put.add(*load, proven(g_, *load));
      std::vector<node_id> list = arguments(g_, sum, 0), all;
      for (node_id& each : list) each = put(each);
      if (list == arguments(g_, sum, 0)) continue;
      all.assign(list.begin() + 2, list.end());
      where_ = where_.common(g_.free[*load]);
      of_extents_ = conjunction(g_, of_extents_, extents_of(*load));
      sum = intern_reduce(g_, monoid::sum, g_.type(sum), list[0], list[1], all);
    }
  }

  node_id within(node_id sum, node_id condition) {
    std::vector<node_id> all = bound_indices(g_, sum);
    const auto idx =
        std::ranges::find_if(all, [&](node_id i) { return where_.has(g_.ordinal(i)) && is_closed(g_, i); });
    if (idx == all.end()) return body_;
    const node_id low = g_.arg(*idx, 0), high = g_.arg(*idx, 1);
    const node_id own = fresh_index(g_, *idx, low, make(g_, op::select, condition, high, low));
    replacement put(g_, set_of(g_, {*idx}));
    put.keep_proofs();
    put.add(*idx, own);
    for (node_id& each : all) each = put(each);  // others may have ranges by it
    return intern_reduce(g_, monoid::sum, g_.type(sum), put(g_.arg(sum, 0)), put(g_.arg(sum, 1)), all);
  }

  graph& g_;
  const node_id body_;
  flat<node_id> said_;
  index_set where_;
  node_id of_extents_ = no_node;
  bool needs_condition_ = false;
};

}  // namespace sheaf::inline v0_1::plan
