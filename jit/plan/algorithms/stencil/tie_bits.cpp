#include <sheaf/jit/plan/algorithms/stencil/tie_bits.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/algorithms/stencil/small_windows.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// element == extremum, where the extremum is what a stage stores of windows of few places.
class tie {
 public:
  tie(const context& c, node_id element, node_id extremum) : c_(c), g_(c.g), element_(element), extremum_(extremum) {}

  // The same asked of the bits; no_node: it is another comparison.
  node_id operator()() {
    if (!finds_window()) return no_node;
    node_id bit = integer(g_, 0);
    for (const window& w : windows_) {
      const node_id at = place_of(w);
      if (at == no_node) return no_node;
      bit = make(g_, op::add, make(g_, op::mul, bit, integer(g_, w.count)), make(g_, op::sub, at, put_(w.base)));
    }
    if (!is_met()) return no_node;
    const node_id bits = cast_to(g_, element::i32, put_(stored_bits()));
    const node_id one = cast_to(g_, element::i32, integer(g_, 1));
    const node_id shifted = make(g_, op::shift_right, bits, cast_to(g_, element::i32, bit));
    return make(g_, op::equal, make(g_, op::bit_and, shifted, one), one);
  }

 private:
  bool finds_window() {
    if (g_.kind(element_) != op::load || g_.kind(extremum_) != op::load) return false;
    const node_id stored = g_.arg(extremum_, 0);
    if (g_.kind(stored) != op::define) return false;
    const auto by = std::ranges::find_if(c_.before, [&](const stage& t) { return t.define == stored; });
    if (by == c_.before.end() || by->how != way::stencil || by->when != no_node) return false;
    by_ = static_cast<std::size_t>(by - c_.before.begin());
    fold_ = g_.arg(stored, 0);
    if (!is_extremum(g_, fold_) || !is_true(g_, g_.arg(fold_, 1)) || !names_all(g_, fold_, by->indices)) return false;
    key_ = g_.arg(fold_, 0);
    if (g_.kind(key_) != op::load || g_.arg(key_, 0) != g_.arg(element_, 0)) return false;
    std::int64_t bits = 1;
    for (const node_id idx : bound_indices(g_, fold_)) {
      windows_.push_back(window_of(c_, idx));
      bits *= windows_.back().count;
      if (windows_.back().extent != no_node || bits < 1 || bits > 8 * row(element::u16).bytes) return false;
    }
    for (std::size_t d = 0; d < by->indices.size(); ++d)
      put_.add(by->indices[d], g_.arg(extremum_, 1 + static_cast<int>(d)));
    return true;
  }

  // Where in the window the element is: the window's place in the one subscript that names it, with step 1.
  node_id place_of(const window& w) {
    node_id at = no_node;
    for (int d = 1; d < g_[key_].count; ++d) {
      const node_id subscript = g_.arg(key_, d);
      if (!uses(g_, subscript, w.idx)) continue;
      const line l = split_affine(g_, subscript, w.idx);
      if (at != no_node || !l.affine || l.slope != 1) return no_node;
      at = make(g_, op::sub, g_.arg(element_, d), put_(l.rest));
    }
    if (at != no_node) put_.add(w.idx, at);
    return at;
  }

  // Is it an element of the window, whatever its place?
  bool is_met() {
    for (int d = 1; d < g_[key_].count; ++d)
      if (!known_equal(g_, put_(g_.arg(key_, d)), g_.arg(element_, d))) return false;
    return std::ranges::all_of(windows_, [&](const window& w) {
      const node_id at = put_(w.idx);
      return proven_less_equal(g_, put_(g_.arg(w.idx, 0)), at) &&
             proven_less_equal(g_, plus(g_, at, 1), put_(g_.arg(w.idx, 1)));
    });
  }

  // At the places of the stage that stores the extremum.
  node_id stored_bits() {
    const stage by = c_.before[by_];
    node_id bit = integer(g_, 0);
    for (const window& w : windows_)
      bit = make(g_, op::add, make(g_, op::mul, bit, integer(g_, w.count)), make(g_, op::sub, w.idx, w.base));
    const node_id value = cast_to(g_, element::i32, make(g_, op::shift_left, integer(g_, 1), bit));
    const node_id ties = make(g_, op::equal, key_, result_of(g_, by));
    const node_id all = intern_reduce(g_, monoid::sum, element::i32, value, ties, bound_indices(g_, fold_));
    return stored(c_, cast_to(g_, element::u16, all), {"ties", by, "a bit for each element of a window that ties"});
  }

  const context& c_;
  graph& g_;
  node_id element_, extremum_, fold_ = no_node, key_ = no_node;
  std::size_t by_ = 0;
  std::vector<window> windows_;
  replacement put_{g_, proofs::kept};
};

}  // namespace

bool take_tie_bits(const context& c, stage& s) {
  graph& g = c.g;
  if (!c.known.for_groups() || s.how != way::map || s.where == place::check) return false;
  for (const node_id n : reductions_in(g, s.body)) {
    if (monoid_of(g, n) != monoid::sum || is_term_by_term(g, n)) continue;
    const auto walks = [&](node_id e) { return g.free[e].meets(set_of(g, bound_indices(g, n))); };
    flat<node_id> conditions;
    deltas::conjuncts(g, g.arg(n, 1), conditions);
    for (const node_id e : conditions)
      for (int k = 0; g.kind(e) == op::equal && k < 2; ++k) {
        if (walks(g.arg(e, k)) || !walks(g.arg(e, 1 - k))) continue;  // one element, many windows
        const node_id bit = tie(c, g.arg(e, k), g.arg(e, 1 - k))();
        if (bit == no_node) continue;
        replace_in(g, s, e, bit);
        return true;
      }
  }
  return false;
}

}  // namespace sheaf::inline v0_1::plan
