#include <sheaf/jit/plan/short_rows.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::short_rows;

class short_rows {
 public:
  // rows: the index to run in lanes.
  short_rows(graph& g, const facts& known, const stage& s, node_id rows) : g_(g), known_(known), s_(s), rows_(rows) {}

  bool operator()() {
    if (!is_closed(g_, rows_) || known_.trips(rows_) < least_rows || !may_vectorise(g_, s_.body, rows_)) return false;
    if (g_.free[rows_].without(set_of(g_, {rows_})).empty() && is_met() && folds_ > 0) return are_loops_short();
    return false;
  }
  // Loops that go along rows, and whether an input's rows are one dimension with their columns.
  const index_set& along() const { return along_; }

 private:
  // Elements of rows, one number of each, or the same for all.
  bool is_met() {
    bool fits = true;
    for_each_node(g_, s_.body, [&](node_id n) {
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
    if (row(g_.type(load)).bytes < 4 || !unit_strides{known_}(g_.arg(load, 0)) || !is_inside(g_, load)) return false;
    const int last = g_[load].count - 1;
    for (int d = 1; d < last; ++d)
      if (!moves_evenly(g_.arg(load, d))) return false;
    const node_id at = g_.arg(load, last);
    const std::vector<node_id> others = indices_of(g_, g_.free[at].without(set_of(g_, {rows_})));
    if (others.empty()) return !uses(g_, at, rows_) || split_affine(g_, at, rows_).slope == 1;
    const line l = split_affine(g_, at, others.front());
    if (others.size() > 1 || !l.affine || l.slope != 1 || !moves_evenly(at)) return false;
    apart_ |= set_of(g_, s_.indices).without(g_.free[load]);
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
  bool is_short(node_id idx) const {
    return is_closed(g_, idx) && known_.trips(idx) >= shortest && known_.trips(idx) <= longest_;
  }
  bool are_loops_short() {
    if (joined_ && !positions_ && !along_.meets(set_of(g_, s_.indices))) return false;
    if (functions_ && !along_.meets(set_of(g_, s_.indices))) longest_ = longest_of_functions;
    bool all = true;
    for_each_node(g_, s_.body, [&](node_id n) {
      if (g_.kind(n) != op::reduce) return;
      all = all && along_.has(g_.ordinal(g_.arg(n, 2))) && is_short(g_.arg(n, 2));
    });
    // Loops around read other rows, not the same ones once more.
    for (const node_id idx : s_.indices)
      if (idx != rows_) all = all && (along_.has(g_.ordinal(idx)) ? is_short(idx) : !apart_.has(g_.ordinal(idx)));
    return all;
  }

  graph& g_;
  const facts& known_;
  const stage& s_;
  const node_id rows_;
  index_set along_, apart_;  // apart: indices that some rows do not depend on
  int folds_ = 0;
  bool joined_ = false, positions_ = false, functions_ = false;
  double longest_ = longest;
};

}  // namespace

bool schedule_short_rows(graph& g, const facts& known, stage& s) {
  s.short_rows = false;
  const call_facts& call = known.call();
  if (s.how != way::map || call.gpu || known.for_groups() || call.overrides.lanes != 0 || s.where == place::check)
    return false;
  if (s.rows.whole != no_node || s.order_when != no_node || s.reads_block_tree || s.swept) return false;
  node_id rows = no_node;
  for (const node_id idx : s.indices)
    if (rows == no_node || known.trips(idx) > known.trips(rows)) rows = idx;
  if (rows == no_node) return false;
  short_rows found(g, known, s, rows);
  if (!found()) return false;
  s.short_rows = true;
  s.vector = rows;
  s.lanes = numerics::lanes::of_short_rows;
  s.loops.clear();
  std::vector<node_id> inner;
  for (const node_id idx : s.indices)
    if (idx != rows) (found.along().has(g.ordinal(idx)) ? inner : s.loops).push_back(idx);
  s.loops.push_back(rows);
  s.loops.insert(s.loops.end(), inner.begin(), inner.end());
  return true;
}

}  // namespace sheaf::inline v0_1::plan
