#include <sheaf/jit/plan/vouched.hpp>

#include <algorithm>

#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/proving.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// All pairs of conditions low <= row && row < high, for rows of the results.
std::vector<vouched_load> slices_in(graph& g, const stage& s) {
  flat<node_id> all;
  deltas::conjuncts(g, g.arg(s.body, 1), all);
  std::vector<vouched_load> list;
  for (const node_id row : s.indices)
    for (const node_id from : all)
      for (const node_id to : all)
        if (g.kind(from) == op::less_equal && g.arg(from, 1) == row && g.kind(to) == op::less && g.arg(to, 0) == row)
          list.push_back({.row = row, .low = g.arg(from, 0), .high = g.arg(to, 1)});
  return list;
}

class vouching {
 public:
  vouching(graph& g, const stage& s, const vouched_load& slice)
      : g_(g), slice_(slice), bound_(bound_indices(g, s.body)) {}

  // Does a checked load have this one's value where its index is the row, and the others' are the sum's?
  bool operator()(node_id checked, node_id load) const {
    return std::ranges::any_of(indices_of(g_, g_.free[checked]), [&](node_id t) { return walks(t, checked, load); });
  }

 private:
  bool walks(node_id t, node_id checked, node_id load) const {
    const node_id low = g_.arg(t, 0), high = g_.arg(t, 1);
    index_set of = g_.free[low];
    of |= g_.free[high];
    if (of.empty()) return false;
    replacement put(g_, proofs::kept);
    put.add(t, slice_.row);
    for (const node_id m : indices_of(g_, of)) {
      const node_id same = slice_like(m);
      if (same == no_node) return false;
      if (same != m) put.add(m, same);
    }
    return is_same(g_, put(low), slice_.low) && is_same(g_, put(high), slice_.high) && is_same(g_, put(checked), load);
  }
  // The one that the sum binds over the same range.
  node_id slice_like(node_id m) const {
    for (const node_id k : bound_)
      if (k == m || (known_equal(g_, g_.arg(k, 0), g_.arg(m, 0)) && known_equal(g_, g_.arg(k, 1), g_.arg(m, 1))))
        return k;
    return no_node;
  }

  graph& g_;
  const vouched_load& slice_;
  std::vector<node_id> bound_;
};

}  // namespace

std::vector<vouched_load> vouched_in_slices(graph& g, const stage& s, const std::vector<node_id>& checked) {
  std::vector<vouched_load> list;
  if (g.kind(s.body) != op::reduce || is_true(g, g.arg(s.body, 1))) return list;
  for (vouched_load slice : slices_in(g, s)) {
    const vouching vouches(g, s, slice);
    for (const node_id load : loads_in(g, g.arg(s.body, 0))) {
      if (is_inside(g, load) || !g.free[load].has(g.ordinal(slice.row))) continue;
      slice.load = load;
      if (std::ranges::any_of(checked, [&](node_id n) { return vouches(n, load); })) list.push_back(slice);
    }
  }
  return list;
}

void prove_vouched(graph& g, stage& s) {
  const updated_rows rows = rows_of(g, s);
  std::vector<node_id> loads;
  for (const vouched_load& v : s.vouched)
    if (v.row == s.owned && rows.low != no_node && is_same(g, v.low, rows.low) && rows.high != no_node &&
        is_same(g, v.high, rows.high))
      loads.push_back(v.load);
  if (loads.empty()) return;
  s.body = with_body(g, s.body, proving(g, loads, proving::in::itself)(g.arg(s.body, 0)));
}

}  // namespace sheaf::inline v0_1::plan
