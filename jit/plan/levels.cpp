#include <sheaf/jit/plan/levels.hpp>

#include <algorithm>
#include <tuple>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/ragged.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::plan {

namespace {

constexpr double least_slices = 256, least_rows = 4096, least_elements = 1 << 18;
constexpr std::int64_t rows_of_a_slice = 48;  // what folding one from tables costs, about

// The number of rows that a trusted load walks with t; every load with t in it must be such a one.
node_id rows_walked(graph& g, node_id e, node_id t, const trust& trusted) {
  node_id rows = no_node;
  bool fine = true;
  for_each_node(g, e, [&](node_id n) {
    if (g.kind(n) == op::reduce) fine = false;
    if (g.kind(n) != op::load || !g.free[n].has(g.ordinal(t))) return;
    fine = fine && trusted.contains(n) && g.kind(g.arg(n, 0)) == op::input;
    for (int d = 0; d + 1 < g[n].count; ++d)
      if (g.arg(n, 1 + d) == t && rows == no_node) rows = extent(g, g.arg(n, 0), d);
  });
  return fine ? rows : no_node;
}

struct slices_form {
  node_id reduce = no_node, t = no_node, rows = no_node;
  index_set slice;  // the indices that the bounds depend on
};

slices_form slices_in(graph& g, const facts& known, const stage& s, const trust& trusted) {
  slices_form found;
  for_each_node(g, s.body, [&](node_id n) {
    if (found.reduce != no_node || g.kind(n) != op::reduce || g[n].count != 3 || !is_true(g, g.arg(n, 1))) return;
    if (row(monoid_of(g, n)).position || is_own(monoid_of(g, n)) || row(g.type(n)).bytes < 4) return;
    const node_id t = g.arg(n, 2), low = g.arg(t, 0), high = g.arg(t, 1);
    const bool data = (holds(g, low, op::load) || holds(g, high, op::load)) && !holds(g, low, op::reduce) && !holds(g, high, op::reduce);
    index_set slice = g.free[low];
    slice |= g.free[high];
    index_set own;
    for (const node_id idx : s.indices) own.insert(g.ordinal(idx));
    if (!data || slice.empty() || !slice.within(own) || !g.free[n].within(own)) return;
    if (!has_closed_ranges(g, n)) return;
    const node_id rows = rows_walked(g, g.arg(n, 0), t, trusted);
    if (rows == no_node) return;
    replacement closed(g);  // t stands in the body with its range, and so with the slice
    closed.add(t, index(g, index_name(g, t), index_serial(g, t) + 5000, integer(g, 0), rows));
    if (g.free[closed(g.arg(n, 0))].meets(slice)) return;
    const auto count = known.value(rows);
    index_set columns = g.free[n];
    for (const node_id idx : indices_of(g, slice)) columns.erase(g.ordinal(idx));
    const double height = static_cast<double>(count.value_or(0));
    const bool enough = known.trips(slice) >= least_slices && height >= least_rows && height * known.trips(columns) >= least_elements;
    if (!count || (!enough && !known.call().eager)) return;
    found = {n, t, rows, slice};
  });
  return found;
}

class levels {
 public:
  levels(graph& g, const facts& known, const stage& s, const slices_form& f, std::vector<stage>& before, trust& trusted)
      : g_(g), known_(known), s_(s), f_(f), before_(before), trusted_(trusted), fold_(monoid_of(g, f.reduce)), radix_(known.call().eager ? 2 : 16) {}

  node_id deep() const { return deep_; }

  node_id operator()() {
    const node_id low = g_.arg(f_.t, 0), high = g_.arg(f_.t, 1), zero = integer(g_, 0);
    deep_ = many(low, high);
    const node_id some = make(g_, op::less, low, high);  // the bounds of an empty slice may be anything
    node_id first = make(g_, op::select, some, low, zero), end = make(g_, op::select, some, high, zero);
    node_id value = g_.arg(f_.reduce, 0), t = f_.t, rows = f_.rows, result = no_node;
    for (int level = 0;; ++level) {
      const bool last = level > 0 && known_.value(rows).value_or(0) < radix_ * radix_;
      const node_id inner = make(g_, op::minimum, whole(up(first)), end);
      const node_id from = last ? end : level == 0 ? make(g_, op::select, deep_, inner, end) : inner;
      result = joined(result, part(value, t, first, from));
      if (last) return result;
      const node_id outer = make(g_, op::maximum, whole(down(end)), from);
      const node_id to = level == 0 ? make(g_, op::select, deep_, outer, end) : outer;
      result = joined(result, part(value, t, to, end));
      std::tie(value, t) = table(value, t, rows, level);
      rows = up(rows);
      first = up(from), end = down(to);
    }
  }

 private:
  node_id up(node_id e) { return make(g_, op::quotient, make(g_, op::add, e, integer(g_, radix_ - 1)), integer(g_, radix_)); }
  node_id down(node_id e) { return make(g_, op::quotient, e, integer(g_, radix_)); }
  node_id whole(node_id e) { return make(g_, op::mul, e, integer(g_, radix_)); }

  // Is folding all slices row by row more work than filling the tables and folding from them?
  node_id many(node_id low, node_id high) {
    const node_id length = make(g_, op::maximum, make(g_, op::sub, high, low), integer(g_, 0));
    const auto bound = indices_of(g_, f_.slice);
    const node_id all = intern_reduce(g_, monoid::sum, element::i64, length, truth(g_, true), bound);
    stage like = s_;
    like.vector = no_node;
    const node_id depth = stored(g_, all, "depth", like, before_, "the rows of all slices: what decides how they are folded");
    node_id slices = integer(g_, 1);
    for (const node_id idx : bound)
      slices = make(g_, op::mul, slices, make(g_, op::maximum, make(g_, op::sub, g_.arg(idx, 1), g_.arg(idx, 0)), integer(g_, 0)));
    if (known_.call().eager) return make(g_, op::less, f_.rows, depth);
    const node_id work = make(g_, op::add, make(g_, op::mul, f_.rows, integer(g_, 2)), make(g_, op::mul, slices, integer(g_, rows_of_a_slice)));
    return make(g_, op::less, work, depth);
  }
  node_id joined(node_id a, node_id b) { return a == no_node ? b : make(g_, row(fold_).combine, a, b); }

  node_id part(node_id value, node_id t, node_id low, node_id high) {
    const node_id over = fresh_index(g_, t, low, high);
    replacement put(g_);
    put.add(t, over);
    trust_alike(g_, value, put, trusted_);
    return intern_reduce(g_, fold_, g_.type(f_.reduce), put(value), truth(g_, true), {over});
  }

  // The stage of the next table, and its load at an index of its own.
  std::pair<node_id, node_id> table(node_id value, node_id t, node_id rows, int level) {
    const node_id b = fresh_index(g_, t, integer(g_, 0), up(rows));
    const node_id start = whole(b);
    const node_id folded = part(value, t, start, make(g_, op::minimum, make(g_, op::add, start, integer(g_, radix_)), rows));
    stage like = s_;
    like.indices.insert(like.indices.begin(), b);
    like.vector = no_node;
    const std::size_t count = before_.size();
    const node_id at = stored(g_, folded, "table", like, before_, "folds of " + std::to_string(radix_) + (level == 0 ? " rows" : " entries") + ", if slices overlap enough");
    if (before_.size() > count) before_.back().when = deep_, before_.back().levelled = true;
    trusted_.insert(at);
    return {at, b};
  }

  graph& g_;
  const facts& known_;
  const stage& s_;
  const slices_form& f_;
  std::vector<stage>& before_;
  trust& trusted_;
  monoid fold_;
  std::int64_t radix_;
  node_id deep_ = no_node;
};

}  // namespace

bool take_levels(graph& g, const facts& known, stage& s, std::vector<stage>& before, trust& trusted) {
  if (s.how != way::map || s.levelled) return false;
  const slices_form f = slices_in(g, known, s, trusted);
  if (f.reduce == no_node) return false;
  levels made(g, known, s, f, before, trusted);
  const node_id folded = made();
  replacement put(g);
  put.add(f.reduce, folded);
  s.body = put(s.body);
  s.levelled = true;
  const auto bound = indices_of(g, f.slice);
  const node_id low = g.arg(f.t, 0), high = g.arg(f.t, 1);
  if (bound.size() == 1 && g.type(low) == element::i64 && g.type(high) == element::i64) {
    const node_id rows = index(g, index_name(g, f.t), index_serial(g, f.t) + 6000, integer(g, 0), f.rows);
    const slice_lists l{.slice = bound[0], .low = low, .high = high, .owned = rows, .chunk = known.call().eager ? 4 : 64, .all = true};
    stage lists = lists_stage(g, known, l);
    lists.when = made.deep();
    s.slices = l;
    s.slices.array = lists.define;
    s.order_when = lists.when;
    before.push_back(std::move(lists));
  }
  s.reasons.push_back("slices may overlap: folded from tables of blocks if they have more rows than twice the data and " +
                      std::to_string(rows_of_a_slice) + " a slice, else row by row");
  return true;
}

}  // namespace sheaf::plan
