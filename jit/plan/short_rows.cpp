#include <sheaf/jit/plan/short_rows.hpp>

#include <algorithm>
#include <set>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/products.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::short_rows;

class short_rows {
 public:
  // A value of these indices, of which `rows` is to run in lanes.
  short_rows(graph& g, const facts& known, node_id value, const std::vector<node_id>& indices, node_id rows)
      : g_(g), known_(known), value_(value), indices_(indices), rows_(rows) {}

  // unrolled: also what is better unrolled, with rows in lanes, than walked.
  bool operator()(bool unrolled = false) { return may_be(unrolled) && are_loops_short(); }
  // Of some sizes, at least.
  bool may_be(bool unrolled = false) {
    unrolled_ = unrolled;
    if (!is_closed(g_, rows_) || !may_vectorise(g_, value_, rows_)) return false;
    if (!g_.free[rows_].without(set_of(g_, {rows_})).empty() || !is_met() || folds_ == 0) return false;
    return may_be_short();
  }
  // Is it a loop within the lanes: along rows, or over the results of each?
  bool is_inner(node_id idx) const { return along_.has(g_.ordinal(idx)) || is_of_results(idx); }

 private:
  // Elements of rows, one number of each, or the same for all.
  bool is_met() {
    bool fits = true;
    for_each_node(g_, value_, [&](node_id n) {
      if (g_.kind(n) == op::load) fits = fits && is_met(n);
      functions_ = functions_ || is_function(g_, n);
      if (g_.kind(n) != op::reduce) return;
      ++folds_;
      positions_ = positions_ || row(monoid_of(g_, n)).position;
      fits = fits && uses(g_, n, rows_) && g_[n].count == 3;
    });
    return fits;
  }
  bool is_met(node_id load) {
    if (!uses(g_, load, rows_)) return true;
    of_rows_ |= g_.free[load];
    if (!unit_strides{known_}(g_.arg(load, 0)) || !is_inside(g_, load)) return false;
    const int last = g_[load].count - 1;
    for (int d = 1; d < last; ++d)
      if (!moves_evenly(g_.arg(load, d))) return false;
    const node_id at = g_.arg(load, last);
    const std::vector<node_id> others = indices_of(g_, g_.free[at].without(set_of(g_, {rows_})));
    if (others.empty()) return !uses(g_, at, rows_) || split_affine(g_, at, rows_).slope == 1;
    const line l = split_affine(g_, at, others.front());
    if (others.size() > 1 || !l.affine || l.slope != 1 || !moves_evenly(at)) return false;
    apart_ |= set_of(g_, indices_).without(g_.free[load]);
    if (!uses(g_, at, rows_)) return along_.insert(g_.ordinal(others.front())), true;
    // Rows that are one dimension with their columns; those of reductions alone are unrolled.
    const auto apart = split_affine(g_, at, rows_).slope;
    along_.insert(g_.ordinal(others.front()));
    joined_ = true;
    return apart <= tuning::expression::most_apart;
  }
  bool moves_evenly(node_id at) {
    const line l = split_affine(g_, at, rows_);
    return l.affine && l.slope >= 0;
  }
  bool has_functions_of_elements() const {
    return any_node(g_, value_, [&](node_id n) { return is_function(g_, n) && g_.free[n].meets(along_); });
  }
  // Sizes are compared last.
  bool may_be_short() const {
    const bool unrolls = joined_ && !positions_ && !unrolled_ && !along_.meets(set_of(g_, indices_));
    if (unrolls && !is_of_results(indices_.back())) return false;
    bool all = std::ranges::all_of(reductions_in(g_, value_), [&](node_id n) {
      const node_id idx = g_.arg(n, 2);
      return is_again(idx) || (along_.has(g_.ordinal(idx)) && is_closed(g_, idx));
    });
    // Loops around read other rows, not the same ones once more, but for the few results of each row, and where rows
    // are folded again anyway.
    const bool again = folds_again();
    for (const node_id idx : indices_) {
      if (idx == rows_) continue;
      const bool inner = along_.has(g_.ordinal(idx)) || is_of_results(idx);
      all = all && (inner ? is_closed(g_, idx) : again || !apart_.has(g_.ordinal(idx)));
    }
    return all;
  }
  bool folds_again() const {
    return std::ranges::any_of(reductions_in(g_, value_), [&](node_id n) { return is_again(g_.arg(n, 2)); });
  }
  // A row is folded again for each of its places, with what does not depend on rows: the nearest of a few centres.
  bool is_again(node_id idx) const {
    return folds_ > 1 && !of_rows_.has(g_.ordinal(idx)) && is_closed(g_, idx);
  }
  // The results of a row, as those of a product have them: they lie beside each other.
  bool is_of_results(node_id idx) const {
    return idx == indices_.back() && idx != rows_ && apart_.has(g_.ordinal(idx)) && !along_.has(g_.ordinal(idx));
  }
  bool are_loops_short() {
    if (functions_ && (has_functions_of_elements() || !along_.meets(set_of(g_, indices_))))
      longest_ = longest_of_functions;
    std::vector<shapes::at_least> sizes{{known_.trips(rows_), least_rows}};
    const auto is_short = [&](node_id idx) {
      const amount trips = known_.trips(idx);
      sizes.push_back({trips, shortest});
      // Of a class, rows are as short as the usual one of it, but for those of the next: scratch rows must hold them.
      sizes.push_back({trips.is_of_class() ? longest : longest_, trips});
    };
    const std::vector<node_id> folds = reductions_in(g_, value_);
    if (folds_again()) longest_ = longest_of_functions;
    for (const node_id n : folds)
      if (!is_again(g_.arg(n, 2))) is_short(g_.arg(n, 2));
    for (const node_id idx : indices_) {
      if (idx == rows_) continue;
      const bool of_results = is_of_results(idx);
      if (along_.has(g_.ordinal(idx)) || of_results) is_short(idx);
      if (of_results) sizes.push_back({tuning::products::least_packed_lanes - 1, known_.trips(idx)});
    }
    return all_of(sizes);
  }

  graph& g_;
  const facts& known_;
  const node_id value_;
  const std::vector<node_id> indices_;
  const node_id rows_;
  index_set along_, apart_, of_rows_;  // apart: indices that some rows do not depend on; of_rows: of any row's loads
  int folds_ = 0;
  bool joined_ = false, positions_ = false, functions_ = false, unrolled_ = false;
  double longest_ = longest;
};

bool may_have_short_rows(const facts& known, const stage& s) {
  const call_facts& call = known.call();
  if (s.how != way::map || call.gpu || known.for_groups() || call.overrides.lanes != 0 || s.where == place::check)
    return false;
  return s.rows.whole == no_node && s.order_when == no_node && !s.reads_block_tree && !s.swept;
}

node_id longest_of(const facts& known, const std::vector<node_id>& indices) {
  node_id longest = no_node;
  for (const node_id idx : indices)
    if (longest == no_node || known.trips(idx) > known.trips(longest)) longest = idx;
  return longest;
}

// The largest expressions of rows alone that fold short ones; of a condition the folds, as others ask for them, too.
struct values_of_rows {
  graph& g;
  const facts& known;
  const node_id rows;
  const bool folds;
  std::vector<node_id> list;

  void find(node_id n) {
    if (!uses(g, n, rows) || !holds(g, n, op::reduce)) return;
    const bool alone = g.free[n] == set_of(g, {rows}) && (!folds || g.kind(n) == op::reduce);
    if (alone && short_rows(g, known, n, {rows}, rows)(true)) {
      if (std::ranges::find(list, n) == list.end()) list.push_back(n);
      return;
    }
    if (!is_elementwise(g.kind(n))) return;
    for (int k = 0; k < g[n].count; ++k) find(g.arg(n, k));
  }
};

node_id trips_of_folds(graph& g, node_id n, std::set<node_id>& seen) {
  node_id all = integer(g, 0);
  if (!seen.insert(n).second || g.kind(n) == op::define || g.kind(n) == op::index) return all;
  const bool folds = g.kind(n) == op::reduce;
  for (int k = 0; k < (folds ? 2 : g[n].count); ++k)
    all = make(g, op::add, all, trips_of_folds(g, g.arg(n, k), seen));
  return folds ? make(g, op::mul, trips_of(g, g.arg(n, 2)), make(g, op::maximum, all, integer(g, 1))) : all;
}

}  // namespace

node_id trips_of_folds(graph& g, node_id value) {
  std::set<node_id> seen;
  return trips_of_folds(g, value, seen);
}

bool schedule_short_rows(graph& g, const facts& known, stage& s) {
  if (!may_have_short_rows(known, s) || std::ranges::none_of(s.indices, [&](node_id idx) {
        return short_rows(g, known, s.body, s.indices, idx).may_be();
      }))
    return false;
  const node_id rows = longest_of(known, s.indices);
  short_rows found(g, known, s.body, s.indices, rows);
  if (!found()) return false;
  s.short_rows = true;
  s.vector = rows;
  s.lanes = numerics::lanes::of_short_rows;
  s.loops.clear();
  std::vector<node_id> inner;
  for (const node_id idx : s.indices)
    if (idx != rows) (found.is_inner(idx) ? inner : s.loops).push_back(idx);
  s.loops.push_back(rows);
  s.loops.insert(s.loops.end(), inner.begin(), inner.end());
  return true;
}

node_id take_short_rows(const context& c, node_id n, const stage& s) {
  const facts& known = c.known.bits();
  graph& g = c.g;
  if (!may_have_short_rows(known, s)) return no_node;
  const std::vector<node_id> bound = bound_indices(g, n);
  const node_id when = g.arg(n, 1);
  const bool all = is_true(g, when);
  const node_id folding = all ? g.arg(n, 0) : when;  // what may fold short rows
  if (keeps_several(g, n) || is_folded_in_order(g, n) || !g.free[n].empty()) return no_node;
  if (!holds(g, folding, op::reduce)) return no_node;
  const node_id rows = longest_of(known, bound);
  std::vector<node_id> rest = bound;
  std::erase(rest, rows);
  if (!uses(g, folding, rows) || (!all && !rest.empty())) return no_node;
  const node_id value =
      rest.empty() ? g.arg(n, 0) : intern_reduce(g, monoid_of(g, n), g.type(n), g.arg(n, 0), truth(g, true), rest);
  values_of_rows values{g, known, rows, !all, {}};
  values.find(all ? value : when);
  if (values.list.empty()) return no_node;
  replacement put(g);
  for (const node_id e : values.list)
    put.add(e, stored(c, e, {"materialised", s, "folds of short rows, which are lanes"}));
  return intern_reduce(g, monoid_of(g, n), g.type(n), put(value), put(when), {rows});
}

}  // namespace sheaf::inline v0_1::plan
