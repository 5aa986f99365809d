// Conditions that bound an index of the result by others, of which no index of the sum is solved: as those of the
// gradient of what reads x(i * (i + 1) / 2 + j), 0 <= k - i * (i + 1) / 2 and k - i * (i + 1) / 2 <= i. With k alone on
// one side they are the slices of a range scatter, which walks the few k of each i, not all i for each k.
// Shown by tests/jit/index_digits.cpp.
#pragma once
#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/algorithms/stencil/small_windows.hpp>
#include <sheaf/jit/plan/closed_bounds.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

class isolated_result {
 public:
  isolated_result(graph& g, const facts& known, node_id n, node_id j) : g_(g), known_(known), n_(n), j_(j) {}

  // The reduction with low <= j && j < high; n itself where its slices are not known to be short beside all of j.
  node_id operator()() {
    flat<node_id> list;
    deltas::conjuncts(g_, g_.arg(n_, 1), list);
    node_id rest = truth(g_, true);
    for (const node_id c : list)
      if (!bounds(c)) rest = conjunction(g_, rest, c);
    if (low_ == no_node || high_ == no_node) return n_;
    if (!is_short()) return n_;
    const node_id slices = conjunction(g_, make(g_, op::less_equal, low_, j_), make(g_, op::less, j_, high_));
    return intern_reduce(g_, monoid_of(g_, n_), g_.type(n_), g_.arg(n_, 0), conjunction(g_, slices, rest),
                         bound_indices(g_, n_));
  }

 private:
  // Of what both ends have alike nothing is left.
  std::optional<amount> longest(node_id low, node_id high) const {
    linear gap;
    collect(g_, high, 1, gap);
    collect(g_, low, -1, gap);
    if (gap.wrapped) return {};
    node_id length = integer(g_, gap.constant);
    for (const linear::term& t : gap.terms)
      if (t.factor != 0) length = make(g_, op::add, length, make(g_, op::mul, t.node, integer(g_, t.factor)));
    const node_id most = closed_bounds_of(g_, length).most;
    return most == no_node ? std::nullopt : known_.value(most);
  }
  bool is_short() const {
    std::vector<node_id> lows, highs;
    arms(g_, low_, op::maximum, lows);
    arms(g_, high_, op::minimum, highs);
    for (const node_id low : lows)
      for (const node_id high : highs) {
        const auto length = longest(low, high);
        if (length && *length * tuning::range_scatter::slices_in_result <= known_.trips(j_)) return true;
      }
    return false;
  }

  // Takes a comparison as one of j with what the indices of the sum decide.
  bool bounds(node_id c) {
    if (g_.kind(c) != op::less && g_.kind(c) != op::less_equal) return false;
    if (g_.type(g_.arg(c, 0)) != element::i64 || !g_.free[c].meets(set_of(g_, bound_indices(g_, n_)))) return false;
    const line a = split_affine(g_, g_.arg(c, 0), j_), b = split_affine(g_, g_.arg(c, 1), j_);
    const std::int64_t slope = a.slope - b.slope;
    if (!a.affine || !b.affine || (slope != 1 && slope != -1)) return false;
    const node_id rest = slope > 0 ? make(g_, op::sub, b.rest, a.rest) : make(g_, op::sub, a.rest, b.rest);
    const bool strict = g_.kind(c) == op::less;
    if (slope > 0)
      high_ = of(op::minimum, high_, strict ? rest : plus(g_, rest, 1));
    else
      low_ = of(op::maximum, low_, strict ? plus(g_, rest, 1) : rest);
    return true;
  }
  node_id of(op kind, node_id before, node_id bound) {
    return before == no_node ? bound : stricter(g_, kind, before, bound);
  }

  graph& g_;
  const facts& known_;
  const node_id n_, j_;
  node_id low_ = no_node, high_ = no_node;
};

}  // namespace sheaf::inline v0_1::plan
