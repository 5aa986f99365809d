#include <sheaf/jit/plan/algorithms/stencil/stencil.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/stencil/small_windows.hpp>
#include <sheaf/jit/plan/closed_bounds.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::stencil;

// Does a load in n step over elements along `lane`, and idx walk beside it? Not where another goes from row to row with
// the lanes: written out, each of its places would gather.
bool strides(graph& g, node_id n, node_id lane, node_id idx) {
  bool beside = false;
  for (const node_id e : loads_in(g, n)) {
    if (g[e].count < 2 || !uses(g, e, lane)) continue;
    const node_id last = g.arg(e, g[e].count - 1);
    if (!uses(g, last, lane)) return false;
    const line l = split_affine(g, last, lane);
    beside = beside || (uses(g, last, idx) && (!l.affine || l.slope > 1));
  }
  return beside;
}

// The bound indices of n to be written out; nothing where n has to stay as it is.
std::vector<window> windows_of(const context& c, const stage& s, node_id n, node_id lane) {
  graph& g = c.g;
  std::vector<window> list;
  if (is_term_by_term(g, n)) return list;  // its products are contracted as those of a loop are
  if (s.rows.block == lane && lane != no_node) return list;  // blocks of rows: lanes would be whole blocks apart
  std::int64_t terms = 1;
  for (const node_id idx : bound_indices(g, n)) {
    const bool decided = g.free[idx].has(g.ordinal(lane));
    if (!decided && !strides(g, n, lane, idx)) continue;
    const window w = window_of(c, idx);
    terms *= w.count;
    if (terms == 0 || terms > most_terms) return {};
    list.push_back(w);
  }
  for (const window& w : list)  // a range within the window goes with it
    for (const node_id idx : bound_indices(g, n))
      if (idx != w.idx && (g.free[idx].has(g.ordinal(w.idx)) || g.free[w.base].has(g.ordinal(idx)))) return {};
  return list;
}

// A sum of products over an index more than those of its windows: each product is one multiply-add of some lanes.
bool is_sum_of_products(const graph& g, node_id n) {
  return monoid_of(g, n) == monoid::sum && is_floating(g.type(n)) && g.kind(g.arg(n, 0)) == op::mul;
}
bool walks_more(const graph& g, node_id n, node_id lane) {
  const auto decided = [&](node_id idx) { return g.free[idx].has(g.ordinal(lane)); };
  return is_sum_of_products(g, n) && !std::ranges::all_of(bound_indices(g, n), decided);
}

// A product of terms that masks make 0: multiplied as expressions they would take away terms that are infinite or NaN.
bool multiplies_masked(const graph& g, node_id n) {
  const node_id term = g.arg(n, 0);
  return monoid_of(g, n) == monoid::prod && g.kind(term) == op::select && is_number(g, g.arg(term, 2), 0);
}

class written_out {
 public:
  written_out(graph& g, node_id n, std::vector<window> windows, node_id lane)
      : g_(g), n_(n), windows_(std::move(windows)), lane_(lane) {
    const element type = g.type(n);
    wide_ = numerics::accumulated(type);
    for (const node_id idx : bound_indices(g, n)) {
      const bool out = std::ranges::any_of(windows_, [&](const window& w) { return w.idx == idx; });
      if (!out) rest_.push_back(idx);
    }
  }
  // `counts_as`: the type to count in, for a sum of integers.
  node_id operator()(element counts_as) {
    if (counts_as != g_.type(n_)) wide_ = counts_as;
    std::vector<node_id> stencil;
    node_id result = terms(stencil);
    const std::int64_t mark = is_sum_of_products(g_, n_) ? numerics::chain_of_terms : 0;
    if (!rest_.empty()) result = intern_reduce(g_, monoid_of(g_, n_), wide_, result, truth(g_, true), rest_, mark);
    return counts_as != g_.type(n_) ? result : cast_to(g_, g_.type(n_), result);
  }

 private:
  node_id terms(std::vector<node_id>& stencil) {
    if (stencil.size() == windows_.size()) return term(stencil);
    const window& w = windows_[stencil.size()];
    node_id all = no_node;
    for (std::int64_t v = 0; v < w.count; ++v) {
      stencil.push_back(make(g_, op::add, w.base, integer(g_, v)));
      const node_id next = terms(stencil);
      stencil.pop_back();
      all = all == no_node ? next : make(g_, row(monoid_of(g_, n_)).combine, all, next);
    }
    return all;
  }
  node_id term(const std::vector<node_id>& stencil) {
    node_id inside = truth(g_, true);
    for (std::size_t k = 0; k < stencil.size(); ++k) {
      const node_id low = g_.arg(windows_[k].idx, 0), high = g_.arg(windows_[k].idx, 1);
      inside = conjunction(g_, inside, range_condition(g_, stencil[k], low, high));
    }
    // A point that is in its range for all results reads what the range was proven to read.
    const bool always = is_true(g_, g_.arg(n_, 1)) && is_true(g_, simplified_term(g_, inside, windows_, lane_));
    replacement put(g_, always ? proofs::kept : proofs::known);
    for (std::size_t k = 0; k < stencil.size(); ++k) put.add(windows_[k].idx, stencil[k]);
    const node_id identity = identity_of(g_, monoid_of(g_, n_), wide_);
    const node_id chosen = make(g_, op::select, conjunction(g_, inside, put(g_.arg(n_, 1))),
                                cast_to(g_, wide_, put(g_.arg(n_, 0))), identity);
    return simplified_term(g_, chosen, windows_, lane_);
  }

  graph& g_;
  node_id n_;
  std::vector<window> windows_;
  const node_id lane_;
  std::vector<node_id> rest_;
  element wide_;
};

// A count of few is exact as a floating number; where only that is asked for, lanes stay narrow.
node_id counted_by(const context& c, node_id root, node_id n) {
  graph& g = c.g;
  node_id cast = no_node;
  for (const node_id idx : bound_indices(g, n))
    if (window_of(c, idx).count == 0) return no_node;
  bool only = monoid_of(g, n) == monoid::sum && is_number(g, g.arg(n, 0), 1) && !is_floating(g.type(n));
  for_each_node(g, root, [&](node_id e) {
    for (int k = g.kind(e) == op::load ? 1 : 0; k < g[e].count; ++k) {
      if (g.kind(e) == op::extent || g.arg(e, k) != n) continue;
      only = only && g.kind(e) == op::cast && row(g.type(e)).bytes >= 4 && is_floating(g.type(e)) &&
             (cast == no_node || cast == e);
      cast = e;
    }
  });
  return only ? cast : no_node;
}

}  // namespace

bool take_stencil(const context& c, stage& s) {
  graph& g = c.g;
  if (s.how != way::map || s.indices.empty() || s.where == place::check) return false;
  const node_id lane = s.indices.back();
  for (const node_id idx : s.indices)
    if (!g.free[g.arg(idx, 0)].empty() || !g.free[g.arg(idx, 1)].empty()) return false;
  const auto walks = [&](node_id n) { return g.free[n].has(g.ordinal(lane)); };
  const std::vector<node_id> all = reductions_in(g, s.body);
  const auto has_window = [&](node_id n) { return walks(n) && !windows_of(c, s, n, lane).empty(); };
  if (std::ranges::none_of(all, has_window)) return false;
  const bool chains = std::ranges::all_of(all, [&](node_id n) { return walks_more(g, n, lane); });
  if (c.known.trips(lane) < (chains ? least_lanes_of_chains : least_lanes)) return false;
  node_id body = s.body;
  std::int64_t count = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const node_id n : reductions_in(g, body)) {
      if (!walks(n)) continue;
      const monoid kind = monoid_of(g, n);
      const std::vector<window> windows = windows_of(c, s, n, lane);
      if (windows.empty()) continue;
      if (row(kind).position || is_own(kind) || multiplies_masked(g, n)) return false;
      const node_id cast = counted_by(c, body, n);
      body = with(g, body, cast == no_node ? n : cast,
                  written_out(g, n, windows, lane)(cast == no_node ? g.type(n) : g.type(cast)));
      for (const window& w : windows) count += w.count;
      changed = true;
      break;
    }
  }
  if (count == 0 || count > 2 * most_terms) return false;
  const auto has_no_lanes = [&](node_id n) {
    return g.kind(n) == op::index && n != lane && uses(g, n, lane);
  };
  if (any_node(g, body, has_no_lanes)) return false;
  s.body = body;
  s.how = way::stencil;
  s.reasons.push_back("windows along its last index: " + std::to_string(count) + " points unrolled");
  return true;
}

void schedule_stencil(graph& g, const facts& known, stage& s) {
  s.vector = s.indices.back();
  int bytes = row(g.type(s.define)).bytes;
  for_each_node(g, s.body, [&](node_id n) {
    if (g.kind(n) == op::load && g.free[n].has(g.ordinal(s.vector))) bytes = std::max(bytes, row(g.type(n)).bytes);
  });
  s.lanes = vector_bytes / bytes;
  const amount trips = known.trips(s.vector);
  while (!known.for_groups() && s.lanes > 8 && trips <= 2.0 * s.lanes) s.lanes /= 2;  // few results: less code to make
  s.loops = s.indices;
  index_set all = set_of(g, s.indices);
  double terms = 1;
  for_each_node(g, s.body, [&](node_id n) { terms += is_elementwise(g.kind(n)) || g.kind(n) == op::load ? 1 : 0; });
  s.bytes = known.trips(all) * row(g.type(s.define)).bytes;
  s.operations = known.trips(all) * terms / s.lanes;
}

}  // namespace sheaf::inline v0_1::plan
