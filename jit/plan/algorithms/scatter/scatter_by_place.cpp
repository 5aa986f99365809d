#include <sheaf/jit/plan/algorithms/scatter/scatter_by_place.hpp>

#include <algorithm>

#include <sheaf/jit/plan/algorithms/range_scatter/ragged.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

class by_place {
 public:
  by_place(const context& c, node_id reduce) : g_(c.g), known_(c.known), n_(reduce), bound_(bound_indices(g_, n_)) {}

  node_id operator()() {
    if (monoid_of(g_, n_) != monoid::sum || !is_floating(g_.type(n_)) || bound_.size() != 2) return no_node;
    if (!find_place() || !find_row() || !is_worth_it()) return no_node;
    all_ = fresh_index(g_, place_, integer(g_, 0), count_);
    if (!split()) return no_node;
    const node_id inside =
        conjunction(g_, make(g_, op::less_equal, g_.arg(place_, 0), all_), make(g_, op::less, all_, g_.arg(place_, 1)));
    const node_id at_place =
        intern_reduce(g_, monoid::sum, g_.type(n_), of_slice_, conjunction(g_, when_slice_, inside), {slice_});
    return intern_reduce(g_, monoid::sum, g_.type(n_), at_place, when_place_, {all_});
  }

 private:
  bool names(node_id e, node_id idx) const { return g_.free[e].has(g_.ordinal(idx)); }

  // The slices, and the one index whose range is that of a slice.
  bool find_place() {
    for (const node_id idx : bound_) (is_closed(g_, idx) ? slice_ : place_) = idx;
    if (slice_ == no_node || place_ == no_node) return false;
    const node_id low = g_.arg(place_, 0), high = g_.arg(place_, 1);
    return names(low, slice_) && names(high, slice_) && !follow_each_other(g_, low, high, slice_);
  }

  // What fixes the row, by a load at the place.
  bool find_row() {
    flat<node_id> list;
    deltas::conjuncts(g_, g_.arg(n_, 1), list);
    for (const node_id c : list)
      for (int k = 0; g_.kind(c) == op::equal && k < 2; ++k)
        if (g_.kind(g_.arg(c, k)) == op::index && !names(g_.arg(c, 1 - k), g_.arg(c, k)))
          find_count(g_.arg(c, 1 - k), g_.arg(c, k));
    return count_ != no_node;
  }
  void find_count(node_id at, node_id row) {
    if (std::ranges::find(bound_, row) != bound_.end()) return;
    for_each_node(g_, at, [&](node_id x) {
      if (g_.kind(x) != op::load || g_[x].count != 2 || g_.arg(x, 1) != place_ || !is_proven(g_, x)) return;
      count_ = extent(g_, g_.arg(x, 0), 0);
      row_ = row;
    });
  }

  // Each condition says of a slice or of a place alone, and the value of a slice: times what is in no slice it would be
  // no number where that is none. What else is read at a place is proven in slices alone.
  bool split() {
    replacement put(g_);
    put.add(place_, all_);
    flat<node_id> list;
    deltas::conjuncts(g_, put(g_.arg(n_, 1)), list);
    when_slice_ = when_place_ = truth(g_, true);
    for (const node_id c : list) {
      const bool of_place = names(c, all_);
      if (of_place && names(c, slice_)) return false;
      node_id& all = of_place ? when_place_ : when_slice_;
      all = conjunction(g_, all, c);
    }
    of_slice_ = put(g_.arg(n_, 0));
    return !names(of_slice_, all_);
  }

  // Of few rows each task has a table of its own; and what is stored is of the size of what is read and written.
  bool is_worth_it() const {
    if (known_.for_groups()) return false;
    if (known_.call().force_for_tests) return true;
    const amount rows = known_.trips(row_), slices = known_.trips(slice_);
    const auto places = known_.value(count_);
    return places && known_.trips(g_.free[n_]) >= tuning::inverse_index::listed_from &&
           *places <= tuning::inverse_index::most_places_of_row * (rows + slices);
  }

  graph& g_;
  const facts& known_;
  const node_id n_;
  const std::vector<node_id> bound_;
  node_id slice_ = no_node, place_ = no_node, row_ = no_node, count_ = no_node, all_ = no_node;
  node_id when_slice_ = no_node, when_place_ = no_node, of_slice_ = no_node;
};

}  // namespace

bool take_scatter_by_place(const context& c, stage& s) {
  if (s.how != way::map) return false;
  for (const node_id n : reductions_in(c.g, s.body)) {
    const node_id instead = by_place(c, n)();
    if (instead == no_node) continue;
    replace_in(c.g, s, n, instead);
    s.reasons.push_back("slices may overlap: what all of them add to a place is computed first");
    return true;
  }
  return false;
}

}  // namespace sheaf::inline v0_1::plan
