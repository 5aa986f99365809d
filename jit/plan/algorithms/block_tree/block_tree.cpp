#include <sheaf/jit/plan/algorithms/block_tree/block_tree.hpp>

#include <algorithm>
#include <tuple>

#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/range_scatter/ragged.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::block_tree;

bool is_wanted(const facts& known) { return known.call().overrides.algorithm == algorithm::block_tree; }
bool is_unwanted(const facts& known) {
  return known.call().overrides.algorithm != algorithm::planned && !is_wanted(known);
}

}  // namespace

node_id rows_walked(graph& g, node_id e, node_id t, bool guarded) {
  node_id rows = no_node;
  bool fine = true;
  for_each_node(g, e, [&](node_id n) {
    if (g.kind(n) == op::reduce) fine = false;
    if (g.kind(n) != op::load || !g.free[n].has(g.ordinal(t))) return;
    fine = fine && (guarded || is_inside(g, n)) && g.kind(g.arg(n, 0)) == op::input;
    for (int d = 0; d + 1 < g[n].count; ++d)
      if (g.arg(n, 1 + d) != t) {
        fine = fine && (is_inside(g, n) || !uses(g, g.arg(n, 1 + d), t));
      } else {
        const node_id own = extent(g, g.arg(n, 0), d);
        rows = rows == no_node || rows == own ? own : make(g, op::minimum, rows, own);
      }
  });
  return fine ? rows : no_node;
}

// Are terms what memory has side by side, and few operations? Then a register of them costs what one does.
static bool are_read_in_order(const graph& g, node_id reduce, node_id t) {
  return all_nodes(g, g.arg(reduce, 0), [&](node_id e) {
    const int last = g[e].count - 1;
    if (g.kind(e) == op::load && uses(g, e, t)) return g.arg(e, last) == t;
    return !is_elementwise(g.kind(e)) || row(g.kind(e)).cost == op_cost::few;
  });
}

slices_form slices_in(graph& g, const facts& known, const stage& s) {
  slices_form found;
  for_each_node(g, s.body, [&](node_id n) {
    if (found.reduce != no_node || g.kind(n) != op::reduce || g[n].count != 3 || !is_true(g, g.arg(n, 1))) return;
    if (row(monoid_of(g, n)).position || is_own(monoid_of(g, n)) || row(g.type(n)).bytes < 4) return;
    const node_id t = g.arg(n, 2), low = g.arg(t, 0), high = g.arg(t, 1);
    if (g.kind(high) == op::select) return;  // a condition that empties ranges leaves few
    const bool data = (holds(g, low, op::load) || holds(g, high, op::load)) && !holds(g, low, op::reduce) &&
                      !holds(g, high, op::reduce);
    index_set slice = g.free[low];
    slice |= g.free[high];
    index_set own = set_of(g, s.indices);
    if (!data || slice.empty() || !slice.within(own) || !g.free[n].within(own)) return;
    if (!has_closed_ranges(g, n)) return;
    const node_id rows = rows_walked(g, g.arg(n, 0), t);
    if (rows == no_node) return;
    replacement closed(g);  // t stands in the body with its range, and so with the slice
    closed.add(t, unused_index(g, t, integer(g, 0), rows, indices_in(g, n)));
    if (g.free[closed(g.arg(n, 0))].meets(slice)) return;
    const auto count = known.value(rows);
    index_set columns = g.free[n];
    const std::vector<node_id> slices = indices_of(g, slice);
    for (const node_id idx : slices) columns.erase(g.ordinal(idx));
    const amount height = count.value_or(0);
    const bool apart = slices.size() == 1 && follow_each_other(g, low, high, slices[0]);
    const bool enough =
        is_wanted(known) || (!apart && may_overlap_much(known.trips(slice), height, height * known.trips(columns)));
    if (!count || (!enough && !known.call().force_for_tests)) return;
    found = {n, t, rows, slice, columns.empty() && are_read_in_order(g, n, t)};
  });
  return found;
}

node_id many(const context& c, const stage& s, const all_slices& a) {
  const auto& [g, known, before] = c;
  const auto& [low, high, rows, slice, rows_of_one] = a;
  const node_id length = make(g, op::maximum, make(g, op::sub, high, low), integer(g, 0));
  const auto bound = indices_of(g, slice);
  const node_id all = intern_reduce(g, monoid::sum, element::i64, length, truth(g, true), bound);
  stage like = s;
  like.vector = no_node;
  const node_id depth =
      stored(c, all, {"depth", like, "the rows of all slices: what decides how they are taken"});
  for (stage& made : before) made.decides = made.decides || made.define == g.arg(depth, 0);
  if (known.call().force_for_tests) return make(g, op::less, rows, depth);
  node_id slices = integer(g, 1);
  for (const node_id idx : bound) slices = make(g, op::mul, slices, trips_of(g, idx));
  const node_id each = integer(g, rows_of_one);
  const node_id work = make(g, op::add, make(g, op::mul, rows, integer(g, 2)), make(g, op::mul, slices, each));
  return make(g, op::less, work, depth);
}

namespace {

// The part of a slice at a level: [first, from) and [to, end) are its edges, whole entries of the next table lie
// between.
struct edges {
  node_id first, from, to, end;
};

// How many rows or entries an entry of the next table stands for.
class radix_of {
 public:
  radix_of(graph& g, const facts& known, bool numbers)
      : usual(known.call().force_for_tests ? 2
              : numbers                    ? numerics::block_tree::radix_of_numbers
                                           : numerics::block_tree::radix),
        number(integer(g, usual)),
        g_(g) {}
  const std::int64_t usual;
  node_id number;
  // The least power of two, from the usual one on, with which a table of these rows has at most an entry a slice. The
  // kernel computes it, so that it is no number of some extents alone.
  void leave_entries(node_id rows, node_id slices) {
    const node_id one = integer(g_, 1);
    node_id bits = make(g_, op::sub, make(g_, op::maximum, ceil_quotient(g_, rows, slices), integer(g_, usual)), one);
    for (int shift = 1; shift < 64; shift *= 2)
      bits = make(g_, op::bit_or, bits, make(g_, op::shift_right, bits, integer(g_, shift)));
    number = make(g_, op::add, bits, one);
  }
  node_id up(node_id e) const { return ceil_quotient(g_, e, number); }
  node_id down(node_id e) const { return make(g_, op::quotient, e, number); }
  node_id whole(node_id e) const { return make(g_, op::mul, e, number); }
  edges rows(node_id low, node_id high) const {
    const node_id some = make(g_, op::less, low, high),
                  zero = integer(g_, 0);  // the bounds of an empty slice may be anything
    return entries(make(g_, op::select, some, low, zero), make(g_, op::select, some, high, zero));
  }
  // The same where slices are deep; else the first edge is all.
  edges rows(node_id low, node_id high, node_id deep) const {
    const edges e = rows(low, high);
    return {e.first, make(g_, op::select, deep, e.from, e.end), make(g_, op::select, deep, e.to, e.end), e.end};
  }
  edges entries(node_id first, node_id end) const {
    const node_id from = make(g_, op::minimum, whole(up(first)), end);
    return {first, from, make(g_, op::maximum, whole(down(end)), from), end};
  }

 private:
  graph& g_;
};

class block_tree_stages {
 public:
  block_tree_stages(const context& c, const stage& s, const slices_form& f)
      : c_(c),
        g_(c.g),
        known_(c.known),
        s_(s),
        f_(f),
        fold_(monoid_of(c.g, f.reduce)),
        radix_(c.g, c.known, f.numbers) {}

  node_id deep() const { return deep_; }

  node_id operator()() {
    const node_id low = g_.arg(f_.t, 0), high = g_.arg(f_.t, 1);
    deep_ = many(c_, s_, {low, high, f_.rows, f_.slice, f_.numbers ? numbers_of_a_slice : rows_of_a_slice});
    node_id value = g_.arg(f_.reduce, 0), t = f_.t, rows = f_.rows;
    // Rows are taken one by one where slices are not deep: then this is all of a slice, and nothing else runs. On a
    // GPU, whose lanes work out the places of edges at once, the first edge stands for it: it is less code.
    const bool apart = !known_.for_groups();
    const node_id whole = apart ? part(value, t, low, high, make(g_, op::logical_not, deep_)) : no_node;
    node_id result = no_node;
    // The first table takes no more memory than the result.
    node_id slices = integer(g_, 1);
    for (const node_id idx : indices_of(g_, f_.slice)) slices = make(g_, op::mul, slices, trips_of(g_, idx));
    if (known_.call().force_for_tests) radix_.number = integer(g_, 4);
    else radix_.leave_entries(rows, make(g_, op::maximum, slices, integer(g_, 1)));
    edges e = apart ? radix_.rows(low, high) : radix_.rows(low, high, deep_);
    for (int level = 0;; ++level) {
      if (level > 0 && known_.value(rows).value_or(0) < radix_.usual * radix_.usual)
        return joined(whole, joined(result, part(value, t, e.first, e.end, deep_)));
      const node_id first = part(value, t, e.first, e.from, apart || level > 0 ? deep_ : truth(g_, true));
      result = joined(joined(result, first), part(value, t, e.to, e.end, deep_));
      std::tie(value, t) = table(value, t, rows, level);
      rows = radix_.up(rows);
      const node_id low_entry = radix_.up(e.from), end_entry = radix_.down(e.to);
      radix_.number = integer(g_, radix_.usual);
      e = radix_.entries(low_entry, end_entry);
    }
  }

 private:
  node_id joined(node_id a, node_id b) { return a == no_node ? b : make(g_, row(fold_).combine, a, b); }

  node_id part(node_id value, node_id t, node_id low, node_id high, node_id when) {
    const node_id over = fresh_index(g_, t, low, high);
    return intern_reduce(g_, fold_, g_.type(f_.reduce), with(g_, value, t, over, proofs::kept), when, {over});
  }

  // The stage of the next table, and its load at an index of its own.
  std::pair<node_id, node_id> table(node_id value, node_id t, node_id rows, int level) {
    const node_id b = fresh_index(g_, t, integer(g_, 0), radix_.up(rows));
    const node_id start = radix_.whole(b);
    const node_id folded =
        part(value, t, start, make(g_, op::minimum, make(g_, op::add, start, radix_.number), rows),
             truth(g_, true));
    stage like = s_;
    like.indices.insert(like.indices.begin(), b);
    like.vector = no_node;
    const std::size_t count = c_.before.size();
    const std::string reason = "folds of " + std::to_string(radix_.usual) +
                               (level == 0 ? " rows or more, an entry a slice at most" : " entries") +
                               ", if slices overlap enough";
    const node_id at = stored(c_, folded, {"table", like, reason});
    if (c_.before.size() > count) c_.before.back().when = deep_, c_.before.back().reads_block_tree = true;
    return {proven(g_, at), b};
  }

  const context c_;
  graph& g_;
  const facts& known_;
  const stage& s_;
  const slices_form& f_;
  monoid fold_;
  radix_of radix_;
  node_id deep_ = no_node;
};

// Rows of a slice to which adding one by one costs what it costs by tables.
std::int64_t rows_added(const stage& s) { return s.indices.size() == 1 ? numbers_added : rows_of_a_slice; }

// A range scatter as tables and edges, each a stage.
class scatter {
 public:
  scatter(const context& c, stage& s, const slice_lists& l)
      : c_(c), g_(c.g), known_(c.known), s_(s), l_(l), radix_(c.g, c.known, false) {}

  void operator()() {
    const node_id rows = g_.arg(l_.owned, 1);
    deep_ = many(c_, s_, {l_.low, l_.high, rows, set_of(g_, {l_.slice}), rows_added(s_)});
    const edges e = radix_.rows(l_.low, l_.high, deep_);
    s_.base = table(l_.owned, rows, radix_.entries(radix_.up(e.from), radix_.down(e.to)));
    s_.base_when = deep_;
    s_.body = at_edges(e, l_.owned);
    s_.reads_block_tree = true;
  }

 private:
  // The load, at a row's place, of the table above; a stage for it, after those that it reads.
  node_id table(node_id row, node_id rows_below, const edges& e) {
    const node_id rows = radix_.up(rows_below);
    const node_id b = fresh_index(g_, l_.owned, integer(g_, 0), rows);
    stage t;
    const bool last = known_.value(rows).value_or(0) < radix_.usual * radix_.usual;
    if (!last) t.base = table(b, rows, radix_.entries(radix_.up(e.from), radix_.down(e.to)));
    t.how = way::range_scatter;
    t.owned = b;
    t.body = last ? reduction(g_.arg(s_.body, 0), e.first, e.end, l_.slice, b) : at_edges(e, b);
    for (const node_id idx : s_.indices) t.indices.push_back(idx == l_.owned ? b : idx);
    define_stage(g_, t, "table");
    t.when = deep_;
    t.reads_block_tree = true;
    t.reasons.push_back("what whole blocks of " + std::to_string(radix_.usual) +
                        " rows or entries get, if slices overlap enough");
    c_.before.push_back(std::move(t));
    std::vector<node_id> subscripts;
    for (const node_id idx : s_.indices) subscripts.push_back(idx == l_.owned ? radix_.down(row) : idx);
    return proven(g_, load_at(g_, c_.before.back().define, subscripts));
  }
  // Both edges of slice m, as slices 2 m and 2 m + 1.
  node_id at_edges(const edges& e, node_id row) {
    const node_id two = integer(g_, 2), m = l_.slice;
    const node_id q = fresh_index(g_, m, make(g_, op::mul, g_.arg(m, 0), two), make(g_, op::mul, g_.arg(m, 1), two));
    const node_id left = make(g_, op::equal, make(g_, op::remainder, q, two), integer(g_, 0));
    replacement put(g_, proofs::kept);
    put.add(m, make(g_, op::quotient, q, two));
    const node_id low = make(g_, op::select, left, put(e.first), put(e.to)),
                  high = make(g_, op::select, left, put(e.from), put(e.end));
    return reduction(put(g_.arg(s_.body, 0)), low, high, q, row);
  }
  node_id reduction(node_id value, node_id low, node_id high, node_id q, node_id row) {
    const node_id condition = conjunction(g_, make(g_, op::less_equal, low, row), make(g_, op::less, row, high));
    return intern_reduce(g_, monoid_of(g_, s_.body), g_.type(s_.body), value, condition, {q});
  }

  const context c_;
  graph& g_;
  const facts& known_;
  stage& s_;
  const slice_lists& l_;
  radix_of radix_;
  node_id deep_ = no_node;
};

}  // namespace

bool scatter_block_tree(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  if (is_unwanted(known) || s.how != way::range_scatter || s.reads_block_tree || s.swept || g[s.body].count != 3 ||
      row(g.type(s.body)).bytes < 4)
    return false;
  const slice_lists l = slices_of(g, s);
  const node_id value = g.arg(s.body, 0);
  if (!has_plain_bounds(g, l) || !is_true(g, rows_of(g, s).rest) || !is_number(g, g.arg(s.owned, 0), 0)) return false;
  if (holds(g, value, op::reduce) || uses(g, value, s.owned)) return false;
  index_set all = set_of(g, s.indices);
  const auto rows = known.value(g.arg(s.owned, 1));
  const bool enough = is_wanted(known) || (!follow_each_other(g, l.low, l.high, l.slice) &&
                                           may_overlap_much(known.trips(l.slice), rows.value_or(0), known.trips(all)));
  if (!rows || *rows < 1 || (!enough && !known.call().force_for_tests)) return false;
  scatter(c, s, l)();
  s.reasons.push_back(
      "slices may overlap: added to a block tree if they have more rows than twice the result and " +
      std::to_string(rows_added(s)) + " a slice, else row by row");
  return true;
}

bool take_block_tree(const context& c, stage& s) {
  const auto& [g, known, before] = c;
  if (is_unwanted(known) || s.how != way::map || s.reads_block_tree || s.swept) return false;
  const slices_form f = slices_in(g, known, s);
  if (f.reduce == no_node) return false;
  block_tree_stages made(c, s, f);
  const node_id folded = made();
  replace_in(g, s, f.reduce, folded);
  s.reads_block_tree = true;
  const auto bound = indices_of(g, f.slice);
  const node_id low = g.arg(f.t, 0), high = g.arg(f.t, 1);
  if (!f.numbers && bound.size() == 1 && g.type(low) == element::i64 && g.type(high) == element::i64) {
    const node_id rows = unused_index(g, f.t, integer(g, 0), f.rows, indices_in(g, s.body));
    const slice_lists l{.slice = bound[0],
                        .low = low,
                        .high = high,
                        .owned = rows,
                        .chunk = known.call().force_for_tests ? 4 : 64,
                        .all = true};
    stage lists = lists_stage(g, known, l);
    lists.when = made.deep();
    sort_slices(c, lists);
    s.slices = l;
    s.slices.array = lists.define;
    s.order_when = lists.when;
    before.push_back(std::move(lists));
  }
  s.reasons.push_back(
      "slices may overlap: folded from a block tree if they have more rows than twice the data and " +
      std::to_string(f.numbers ? numbers_of_a_slice : rows_of_a_slice) + " a slice, else row by row");
  return true;
}

}  // namespace sheaf::inline v0_1::plan
