// Sums over the slices that hold a result, and over part of each: of sum(over(q, i.in(off(q), min(off(q + 1), j + 1))
// .where(j < off(q + 1))), ...), as the gradient of what is folded from each element of a slice to its end, a slice q
// has terms only where off(q) <= j, too, which the range of i says. Said of q alone it makes q a slice of j.
// Input: a sum over several indices. Output: an equal sum over slices of sums over the others; itself where it is none.
// Shown by tests/jit/slice_values.cpp.
#pragma once
#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

// The parts of a condition that ask for none of the indices `inside`, and those that do.
struct parted_condition {
  node_id outside, inside;
};
inline parted_condition parted(graph& g, node_id condition, const index_set& inside) {
  flat<node_id> conjuncts;
  deltas::conjuncts(g, condition, conjuncts);
  parted_condition parts{truth(g, true), truth(g, true)};
  for (const node_id c : conjuncts) {
    node_id& all = g.free[c].meets(inside) ? parts.inside : parts.outside;
    all = conjunction(g, all, c);
  }
  return parts;
}

class slices_outside {
 public:
  slices_outside(graph& g, node_id n) : g_(g), n_(n) {}

  // j: an index of the result.
  node_id operator()(node_id j) const {
    const std::vector<node_id> bound = bound_indices(g_, n_);
    std::vector<node_id> slices, rest;
    index_set inside;
    inside.insert(g_.ordinal(j));
    for (std::size_t pass = 0; pass < bound.size(); ++pass)
      for (const node_id idx : bound)
        if (g_.free[idx].meets(inside)) inside.insert(g_.ordinal(idx));
    for (const node_id idx : bound) (inside.has(g_.ordinal(idx)) ? rest : slices).push_back(idx);
    if (slices.empty() || rest.empty()) return n_;
    inside.erase(g_.ordinal(j));
    auto [of_slice, of_rest] = parted(g_, g_.arg(n_, 1), inside);
    for (const node_id idx : rest)
      if (!g_.free[g_.arg(idx, 0)].meets(inside) && !g_.free[g_.arg(idx, 1)].meets(inside))
        of_slice = conjunction(g_, of_slice, has_terms(g_.arg(idx, 0), g_.arg(idx, 1)));
    const monoid kind = monoid_of(g_, n_);
    const node_id each = intern_reduce(g_, kind, g_.type(n_), g_.arg(n_, 0), of_rest, rest);
    return intern_reduce(g_, kind, g_.type(n_), each, of_slice, slices);
  }

 private:
  // low < high, of each arm of theirs.
  node_id has_terms(node_id low, node_id high) const {
    if (g_.kind(low) == op::maximum)
      return conjunction(g_, has_terms(g_.arg(low, 0), high), has_terms(g_.arg(low, 1), high));
    if (g_.kind(high) == op::minimum)
      return conjunction(g_, has_terms(low, g_.arg(high, 0)), has_terms(low, g_.arg(high, 1)));
    const bool next = g_.kind(high) == op::add && is_number(g_, g_.arg(high, 1), 1);
    return next ? make(g_, op::less_equal, low, g_.arg(high, 0)) : make(g_, op::less, low, high);
  }

  graph& g_;
  const node_id n_;
};

}  // namespace sheaf::inline v0_1::plan
