#include <sheaf/jit/plan/algorithms/scatter/joint_rows.hpp>

#include <algorithm>

#include <sheaf/dsl/passes/reduce.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

class joining {
 public:
  joining(const context& c, node_id n) : c_(c), g_(c.g), n_(n), bound_(bound_indices(c.g, n)) {}

  node_id operator()(const stage& s) {
    if (!find_digits() || !find_batches()) return n_;
    if (digits_.size() - batches_ < 2 || !pays()) return n_;
    return read(s);
  }

 private:
  // An index of the result, and what an update says of it.
  struct digit {
    node_id index, at;
  };

  bool is_result(node_id e) const {
    return g_.kind(e) == op::index && g_.free[n_].has(g_.ordinal(e)) && is_closed(g_, e) &&
           is_number(g_, g_.arg(e, 0), 0);
  }
  bool find_digits() {
    const index_set bound = set_of(g_, bound_);
    flat<node_id> list;
    deltas::conjuncts(g_, g_.arg(n_, 1), list);
    const auto takes = [&](node_id j, node_id at) {
      if (!is_result(j) || !g_.free[at].meets(bound) || g_.type(at) != element::i64) return false;
      if (std::ranges::find(digits_, j, &digit::index) != digits_.end()) return false;
      digits_.push_back({j, at});
      return true;
    };
    rest_ = truth(g_, true);
    for (const node_id e : list)
      if (g_.kind(e) != op::equal || (!takes(g_.arg(e, 0), g_.arg(e, 1)) && !takes(g_.arg(e, 1), g_.arg(e, 0))))
        rest_ = conjunction(g_, rest_, e);
    return !digits_.empty();
  }

  // What data or the rest of the condition is of beside what updates name: these are walked as well.
  bool find_batches() {
    index_set named;
    for (const digit& d : digits_) named.insert(g_.ordinal(d.index));
    index_set of_data;
    for (const digit& d : digits_) of_data |= g_.free[d.at];
    for (const node_id idx : bound_)
      if (!is_closed(g_, idx)) return false;
    if (of_data.meets(named) || g_.free[g_.arg(n_, 0)].meets(named) || g_.free[rest_].meets(named)) return false;
    std::vector<digit> batches;
    for (const node_id idx : indices_of(g_, of_data.common(g_.free[n_]))) {
      if (!is_result(idx)) return false;
      const node_id walked = fresh_index(g_, idx, g_.arg(idx, 0), g_.arg(idx, 1));
      batches.push_back({idx, walked});
    }
    // With batches enough each is a task.
    index_set all;
    for (const digit& d : batches) all.insert(g_.ordinal(d.index));
    if (!batches.empty() && c_.known.trips(all) >= tuning::joint_rows::most_batches) return false;
    batches_ = batches.size();
    digits_.insert(digits_.begin(), batches.begin(), batches.end());
    return true;
  }

  bool pays() const {
    if (c_.known.call().force_for_tests) return true;
    index_set all = g_.free[n_];
    for (const digit& d : digits_) all.erase(g_.ordinal(d.index));
    for (std::size_t k = 0; k < batches_; ++k) all.insert(g_.ordinal(digits_[k].index));
    all |= set_of(g_, bound_);
    return c_.known.trips(all) >= numerics::tables::from;
  }

  node_id read(const stage& s) {
    replacement put(g_, proofs::kept);
    std::vector<node_id> walk;
    for (std::size_t k = 0; k < batches_; ++k) {
      put.add(digits_[k].index, digits_[k].at);
      walk.push_back(digits_[k].at);
    }
    walk.insert(walk.end(), bound_.begin(), bound_.end());
    node_id row = integer(g_, 0), place = integer(g_, 0), rows = integer(g_, 1), condition = truth(g_, true);
    for (std::size_t k = 0; k < digits_.size(); ++k) {
      const node_id size = trips_of(g_, digits_[k].index), at = k < batches_ ? digits_[k].at : put(digits_[k].at);
      row = make(g_, op::add, make(g_, op::mul, row, size), at);
      place = make(g_, op::add, make(g_, op::mul, place, size), digits_[k].index);
      rows = make(g_, op::mul, rows, size);
      if (k < batches_) continue;
      condition = conjunction(g_, condition, make(g_, op::less_equal, integer(g_, 0), at));
      condition = conjunction(g_, condition, make(g_, op::less, at, size));
    }
    const node_id owned = fresh_index(g_, digits_.back().index, integer(g_, 0), rows);
    condition = conjunction(g_, make(g_, op::equal, owned, row), conjunction(g_, condition, put(rest_)));
    const node_id all =
        intern_reduce(g_, monoid_of(g_, n_), g_.type(n_), put(g_.arg(n_, 0)), condition, walk);
    const node_id joint = stored(c_, all, {"joint", s, "rows of several indices: data names them together"});
    replacement here(g_, proofs::kept);
    here.add(owned, place);
    return here(joint);
  }

  const context& c_;
  graph& g_;
  const node_id n_;
  const std::vector<node_id> bound_;
  std::vector<digit> digits_;
  std::size_t batches_ = 0;
  node_id rest_ = no_node;
};

}  // namespace

node_id joint_rows(const context& c, const stage& s, node_id n) {
  const bool atomic = c.known.call().overrides.scatters == scatters::atomic;
  if (!c.known.for_groups() || atomic || is_own(monoid_of(c.g, n)) || keeps_several(c.g, n) ||
      is_folded_in_order(c.g, n))
    return n;
  if (s.where == place::check || s.when != no_node || !has_closed_ranges(c.g, n)) return n;
  return joining(c, n)(s);
}

}  // namespace sheaf::inline v0_1::plan
