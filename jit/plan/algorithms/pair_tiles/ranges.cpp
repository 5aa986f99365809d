// Ranges of the walked index that differ from row to row: prefixes, windows, the rows of a document.
#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/algorithms/pair_tiles/pairs.hpp>
#include <sheaf/jit/plan/algorithms/pair_tiles/ranges.hpp>
#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/difference.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// A dimension that the index walks over, whose range is closed: (low, high) of it. Of several the one that was made
// first, whatever the order in which an expression loads them.
std::pair<node_id, node_id> walked_range(graph& g, node_id body, node_id walk) {
  std::pair<node_id, node_id> found{no_node, no_node};
  for (const node_id n : loads_in(g, body))
    for (int d = 0; d + 1 < g[n].count; ++d) {
      if (g.arg(n, 1 + d) != walk) continue;
      const std::pair<node_id, node_id> range{low_of(g, g.arg(n, 0), d), high_of(g, g.arg(n, 0), d)};
      if (!g.free[range.first].empty() || !g.free[range.second].empty()) continue;
      if (found.first == no_node || range.second < found.second) found = range;
    }
  return found;
}

// Under its own name if it can, so that what walks a part of a range and what walks all of it have one index.
node_id closed_index(graph& g, node_id walk, node_id low, node_id high, const index_set& used) {
  const node_id same = index(g, index_name(g, walk), index_serial(g, walk), low, high);
  return used.has(g.ordinal(same)) ? unused_index(g, walk, low, high, used) : same;
}

// Is an index at least `low`, or less than `high`? Of an extremum of ends each is asked by itself, and none that its
// own range answers, so that ranges which are spelled differently have one condition.
node_id from_low(graph& g, node_id idx, node_id low) {
  if (g.kind(low) == op::maximum)
    return conjunction(g, from_low(g, idx, g.arg(low, 0)), from_low(g, idx, g.arg(low, 1)));
  if (known_less_equal(g, low, g.arg(idx, 0))) return truth(g, true);
  return make(g, op::less_equal, low, idx);
}
node_id below_high(graph& g, node_id idx, node_id high) {
  if (g.kind(high) == op::minimum)
    return conjunction(g, below_high(g, idx, g.arg(high, 0)), below_high(g, idx, g.arg(high, 1)));
  if (known_less_equal(g, g.arg(idx, 1), high)) return truth(g, true);
  return make(g, op::less, idx, high);
}

// Where a condition holds, an expression is `value`, else 0. Of its choices those whose condition `lifts`.
struct chosen {
  node_id where, value;
};
template <class Lifts>
chosen chosen_of(graph& g, node_id e, const Lifts& lifts) {
  const op kind = g.kind(e);
  if (kind == op::select && is_number(g, g.arg(e, 2), 0) && lifts(g.arg(e, 0))) {
    const chosen inner = chosen_of(g, g.arg(e, 1), lifts);
    return {conjunction(g, g.arg(e, 0), inner.where), inner.value};
  }
  if (kind == op::neg) {
    const chosen a = chosen_of(g, g.arg(e, 0), lifts);
    return {a.where, make(g, kind, a.value)};
  }
  if (kind == op::cast && is_floating(g.type(e)) && is_floating(g.type(g.arg(e, 0)))) {
    const chosen a = chosen_of(g, g.arg(e, 0), lifts);
    return {a.where, cast_to(g, g.type(e), a.value)};
  }
  if (kind != op::mul && kind != op::add && kind != op::sub) return {truth(g, true), e};
  const chosen a = chosen_of(g, g.arg(e, 0), lifts), b = chosen_of(g, g.arg(e, 1), lifts);
  if (kind == op::mul) return {conjunction(g, a.where, b.where), make(g, kind, a.value, b.value)};
  if (a.where != b.where) return {truth(g, true), e};
  return {a.where, make(g, kind, a.value, b.value)};
}

// Does it compare places, or what data says of them?
bool compares_indices(const graph& g, node_id c) {
  const op kind = g.kind(c);
  return (kind == op::less || kind == op::less_equal || kind == op::equal) && g.type(g.arg(c, 0)) == element::i64 &&
         g.type(g.arg(c, 1)) == element::i64;
}

// Takes what a comparison says of a walked index's ends into its range; false: it is no end of that.
bool narrow(graph& g, node_id c, node_id walk, row_range& found) {
  if (g.kind(c) == op::equal) return false;
  const line gap = split_affine(g, make(g, op::sub, g.arg(c, 1), g.arg(c, 0)), walk);
  if (!gap.affine || (gap.slope != 1 && gap.slope != -1) || uses(g, gap.rest, walk)) return false;
  const std::int64_t least = g.kind(c) == op::less ? 1 : 0;
  const node_id end = gap.slope == 1 ? difference(g, integer(g, least), gap.rest)
                                     : difference(g, gap.rest, integer(g, least - 1));
  if (end == no_node) return false;
  if (gap.slope == 1)
    found.low = make(g, op::maximum, found.low, end);
  else
    found.high = make(g, op::minimum, found.high, end);
  return true;
}

bool has_ranges_of_data(const graph& g, node_id e) {
  return any_node(g, e, [&](node_id n) {
    if (g.kind(n) != op::reduce) return false;
    return std::ranges::any_of(bound_indices(g, n), [&](node_id idx) {
      return holds(g, g.arg(idx, 0), op::load) || holds(g, g.arg(idx, 1), op::load);
    });
  });
}

}  // namespace

node_id over_closed_range(graph& g, node_id n) {
  const node_id walk = g.arg(n, 2);
  if (has_closed_ranges(g, walk) && g.free[walk].within(set_of(g, {walk}))) return n;
  const auto [low, high] = walked_range(g, g.arg(n, 0), walk);
  if (low == no_node) return no_node;
  const node_id all = closed_index(g, walk, low, high, indices_in(g, n));
  replacement put(g, proofs::kept);
  put.add(walk, all);
  const node_id from = from_low(g, all, g.arg(walk, 0)), to = below_high(g, all, g.arg(walk, 1));
  const node_id condition = conjunction(g, conjunction(g, from, to), put(g.arg(n, 1)));
  return intern_reduce(g, monoid_of(g, n), g.type(n), put(g.arg(n, 0)), condition, {all});
}

node_id with_outer_condition(graph& g, node_id n, bool of_rows) {
  if (monoid_of(g, n) != monoid::sum) return n;
  chosen c = chosen_of(g, g.arg(n, 0), [&](node_id condition) { return holds(g, condition, op::reduce); });
  if (is_true(g, c.where))
    c = chosen_of(g, g.arg(n, 0), [&](node_id condition) {
      return (of_rows || uses(g, condition, g.arg(n, 2))) && range_of_rows(g, condition, g.arg(n, 2));
    });
  if (is_true(g, c.where)) return n;
  return intern_reduce(g, monoid::sum, g.type(n), c.value, conjunction(g, g.arg(n, 1), c.where), bound_indices(g, n));
}

std::optional<row_range> range_of_rows(graph& g, node_id condition, node_id walk) {
  row_range found{g.arg(walk, 0), g.arg(walk, 1)};
  node_id where = truth(g, true), of_rows = truth(g, true);
  bool ranged = false, by_index = false;
  flat<node_id> list;
  deltas::conjuncts(g, condition, list);
  for (const node_id c : list) {
    if (is_true(g, c)) continue;
    if (holds(g, c, op::reduce)) {
      where = conjunction(g, where, c);
    } else if (!compares_indices(g, c)) {
      return std::nullopt;
    } else if (!uses(g, c, walk)) {
      of_rows = conjunction(g, of_rows, c);
    } else if (narrow(g, c, walk, found)) {
      ranged = true;
    } else if (!holds(g, c, op::remainder)) {  // else it seldom holds for many places in a row
      by_index = true;
    } else {
      return std::nullopt;
    }
  }
  if (!is_true(g, of_rows)) {  // where it does not hold a row walks nothing
    found.high = make(g, op::select, of_rows, found.high, g.arg(walk, 0));
    ranged = true;
  }
  const bool chosen = !is_true(g, where);
  if ((ranged || by_index) && chosen) return std::nullopt;
  if (by_index) return row_range{.where = condition, .by_index = true};
  if (ranged) return found;
  return row_range{.where = chosen ? where : no_node};
}

// Does each place walk a slice of rows that ends where the next one begins? A row has one place then, which a scatter
// finds for all rows of the slice at once.
static bool has_slices_of_places(graph& g, node_id reduce) {
  flat<node_id> list;
  deltas::conjuncts(g, g.arg(reduce, 1), list);
  const node_id walk = g.arg(reduce, 2);
  const auto is_offset = [&](node_id e, int next) {
    return g.kind(e) == op::load && g[e].count == 2 && g.arg(e, 1) == plus(g, walk, next);
  };
  for (const node_id c : list)
    for (const node_id d : list) {
      if (g.kind(c) != op::less_equal || g.kind(d) != op::less || g.arg(c, 1) != g.arg(d, 0)) continue;
      const node_id low = g.arg(c, 0), high = g.arg(d, 1);
      const bool offsets = is_offset(low, 0) && is_offset(high, 1) && g.arg(low, 0) == g.arg(high, 0);
      if (offsets && g.kind(g.arg(c, 1)) == op::index) return true;
    }
  return false;
}

bool walks_ranges_of_pairs(graph& g, const facts& known, node_id reduce) {
  if (!may_have_tiles(known.call()) || !joins_tiles(g, reduce) || !has_closed_ranges(g, reduce)) return false;
  if (has_slices_of_places(g, reduce)) return false;
  node_id all = over_closed_range(g, reduce);
  if (all == no_node) return false;
  all = with_outer_condition(g, all, true);
  const node_id walk = g.arg(all, 2);
  const auto range = range_of_rows(g, g.arg(all, 1), walk);
  if (!range || (range->low == no_node && !range->by_index)) return false;
  index_set pairs = g.free[all];
  const std::vector<node_id> rows = indices_of(g, pairs);
  pairs.insert(g.ordinal(walk));
  return std::ranges::any_of(rows, [&](node_id idx) { return are_many(known, idx, walk, pairs); });
}

bool may_read_all_places(graph& g, node_id body, node_id walk) {
  const std::vector<node_id> loads = loads_in(g, body);
  return std::ranges::all_of(loads, [&](node_id n) {
    return !uses(g, n, walk) || !is_proven(g, n) || is_inside(g, n);
  });
}

bool shares_places(graph& g, node_id body, const row_range& range, node_id rows, node_id walk) {
  // Slices of a row's own have nothing in common.
  const auto own = [&](auto&& self, node_id e) -> bool {
    if (!uses(g, e, rows) || g.kind(e) == op::index) return false;
    if (g.kind(e) == op::load) {
      for (int k = 1; k < g[e].count; ++k)
        if (uses(g, g.arg(e, k), rows) && !holds(g, g.arg(e, k), op::load)) return true;
      return false;
    }
    for (int k = 0; k < g[e].count; ++k)
      if (self(self, g.arg(e, k))) return true;
    return false;
  };
  if (own(own, range.low) || own(own, range.high)) return false;
  // Places between those of two rows are read: what names them has to lie between too.
  const auto lies_between = [&](node_id n) {
    if (!uses(g, n, walk)) return true;
    if (uses(g, n, rows)) return false;
    for (int k = 1; k < g[n].count; ++k) {
      const node_id at = g.arg(n, k);
      if (uses(g, at, walk) && (holds(g, at, op::load) || !split_affine(g, at, walk).affine)) return false;
    }
    return true;
  };
  std::unordered_set<node_id> seen;
  const auto read = [&](auto&& self, node_id n) -> bool {
    if (g.kind(n) == op::extent || !seen.insert(n).second) return true;
    // It is stored before, at all places: data must not say how far it goes at those that no row walks.
    if (g.kind(n) == op::reduce && !is_of_pair(g, n, rows, walk)) return !uses(g, n, walk) || !has_ranges_of_data(g, n);
    if (g.kind(n) == op::load && !lies_between(n)) return false;
    for (int k = g.kind(n) == op::load ? 1 : 0; k < g[n].count; ++k)
      if (!self(self, g.arg(n, k))) return false;
    return true;
  };
  return read(read, body);
}

}  // namespace sheaf::inline v0_1::plan
