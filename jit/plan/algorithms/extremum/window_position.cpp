#include <sheaf/jit/plan/algorithms/extremum/window_position.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/algorithms/extremum/rebound.hpp>
#include <sheaf/jit/plan/algorithms/stencil/small_windows.hpp>
#include <sheaf/jit/plan/compared.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using tuning::stencil::most_terms;

bool is_position(const graph& g, node_id n) {
  return g.kind(n) == op::reduce && row(monoid_of(g, n)).position && bound_indices(g, n).size() == 1;
}
monoid extremum_of(const graph& g, node_id position) {
  return monoid_of(g, position) == monoid::argmax ? monoid::max : monoid::min;
}

// Do lanes along it read elements that lie far apart?
bool strides(const context& c, node_id loaded, node_id lane) {
  graph& g = c.g;
  const line l = split_affine(g, g.arg(loaded, g[loaded].count - 1), lane);
  return l.affine && l.slope > tuning::extremum::most_stride;
}

// A position in a window that moves with an index of the stage. count == 0: it is none.
window window_at(const context& c, const stage& s, node_id n) {
  graph& g = c.g;
  if (!is_position(g, n) || g.type(g.arg(n, 0)) == element::boolean) return {};
  const node_id u = bound_indices(g, n)[0];
  const auto moves = [&](node_id e) {
    return uses(g, e, u) && std::ranges::any_of(s.indices, [&](node_id idx) { return uses(g, e, idx); });
  };
  const auto reads = [&](node_id e) {
    for (int k = 1; k < g[e].count; ++k)
      if (moves(g.arg(e, k))) return !strides(c, e, s.indices.back());
    return false;
  };
  if (std::ranges::none_of(loads_in(g, g.arg(n, 0)), reads)) return {};
  if (binds(g, g.arg(n, 0), g.free[n]) || binds(g, g.arg(n, 1), g.free[n])) return {};
  const window w = window_of(c, u);
  return w.extent == no_node ? w : window{};
}

// Does the condition say that the position has been found, as a place of its range?
bool says_found(graph& g, node_id condition, node_id at) {
  const node_id u = bound_indices(g, at)[0], low = g.arg(u, 0), high = g.arg(u, 1);
  const node_id turned = make(g, op::sub, make(g, op::add, low, plus(g, high, -1)), at);
  flat<node_id> list;
  deltas::conjuncts(g, condition, list);
  const auto holds = [&](node_id a, node_id b) {
    return std::ranges::any_of(list, [&](node_id e) { return e == make(g, op::less_equal, low, a); }) &&
           std::ranges::any_of(list, [&](node_id e) { return e == make(g, op::less, b, high); });
  };
  return holds(at, at) || holds(turned, turned);
}

// What stands at the extremum is the extremum.
node_id without_lookup(const context& c, node_id root) {
  graph& g = c.g;
  for (const node_id choice : nodes_in(g, root, op::select))
    for (const node_id at : reductions_in(g, g.arg(choice, 1))) {
      if (!is_position(g, at) || !is_exact(g, g.arg(at, 0)) || !says_found(g, g.arg(choice, 0), at)) continue;
      const node_id u = bound_indices(g, at)[0], e = g.arg(choice, 1);
      if (with(g, g.arg(at, 0), u, at) != e || g.type(e) == element::boolean) continue;
      const monoid kind = extremum_of(g, at);
      const node_id top = intern_reduce(g, kind, g.type(e), g.arg(at, 0), g.arg(at, 1), {u});
      const bool or_nothing = g.arg(choice, 2) == identity_of(g, kind, g.type(e)) && is_true(g, g.arg(at, 1));
      return with(g, root, choice, or_nothing ? top : make(g, op::select, g.arg(choice, 0), top, g.arg(choice, 2)));
    }
  return root;
}

class written_out {
 public:
  written_out(const context& c, const stage& s, node_id n, const window& w) : c(c), g(c.g), s(s), n(n), w(w) {}

  // One for each value of a position that it reads at; n itself: there is none.
  node_id by_value() {
    std::int64_t terms = w.count;
    for (const node_id p : reductions_in(g, g.arg(n, 0))) {
      const window inner = window_at(c, s, p);
      if (inner.count == 0 || uses(g, p, bound_indices(g, n)[0]) || terms * inner.count > most_terms) continue;
      const auto is_inside = [&](node_id q) { return q != p && is_position(g, q) && holds_node(q, p); };
      if (std::ranges::any_of(reductions_in(g, g.arg(n, 0)), is_inside)) continue;
      return chosen_by(p, inner);
    }
    return n;
  }

  // A chain of choices, in numbers as wide as those of the elements.
  node_id chain() {
    node_id best = no_node, at = integer(g, -1, element::i32);
    for (std::int64_t v = 0; v < w.count; ++v) {
      const node_id u = w.idx, place = plus(g, w.base, v);
      const node_id key = with(g, g.arg(n, 0), u, place, proofs_at(place));
      const node_id inside = conjunction(g, range_condition(g, place, g.arg(u, 0), g.arg(u, 1)),
                                         with(g, g.arg(n, 1), u, place, proofs_at(place)));
      const node_id number = integer(g, v, element::i32);
      if (best == no_node && is_true(g, inside)) {
        best = key, at = number, found = true;
        continue;
      }
      if (best == no_node) best = identity_of(g, extremum_of(g, n), g.type(key));
      node_id here = better(key, best);
      if (!found) here = make(g, op::logical_or, make(g, op::less, at, integer(g, 0, element::i32)), here);
      here = conjunction(g, inside, here);
      at = make(g, op::select, here, number, at);
      best = make(g, op::select, here, key, best);
    }
    const node_id position = make(g, op::add, w.base, cast_to(g, element::i64, at));
    if (found) return position;
    return make(g, op::select, make(g, op::less, at, integer(g, 0, element::i32)), integer(g, -1), position);
  }

 private:
  bool holds_node(node_id root, node_id e) const {
    return any_node(g, root, [&](node_id q) { return q == e; });
  }
  // A place that is in its range for all results reads what the range was proven to read.
  proofs proofs_at(node_id place) {
    return is_true(g, range_condition(g, place, g.arg(w.idx, 0), g.arg(w.idx, 1))) ? proofs::kept : proofs::known;
  }
  node_id better(node_id key, node_id best) {
    const bool greatest = extremum_of(g, n) == monoid::max;
    const node_id low = greatest ? best : key, high = greatest ? key : best;
    if (!is_floating(g.type(key))) return make(g, op::less, low, high);
    const node_id other = make(g, op::logical_not, make(g, op::less_equal, high, low));  // or NaN
    return conjunction(g, make(g, op::equal, best, best), other);
  }
  node_id chosen_by(node_id p, const window& inner) {
    node_id result = no_node;
    for (std::int64_t v = inner.count - 1; v >= 0; --v) {
      const node_id place = plus(g, inner.base, v), one = with(g, n, p, place);
      result = result == no_node ? one : make(g, op::select, make(g, op::equal, p, place), one, result);
    }
    return result;
  }

  const context& c;
  graph& g;
  const stage& s;
  const node_id n;
  const window w;
  bool found = false;  // there is an element whatever the data
};

}  // namespace

bool take_window_position(const context& c, stage& s) {
  graph& g = c.g;
  if (s.how != way::map || s.indices.empty()) return false;
  std::vector<node_id> all = reductions_in(g, s.body);
  std::erase_if(all, [&](node_id n) { return !is_position(g, n); });
  if (all.empty()) return false;
  const node_id body = without_lookup(c, s.body);
  if (body != s.body) return s.body = body, true;
  for (const bool chains : {false, true})
    for (const node_id n : all) {
      const window w = window_at(c, s, n);
      if (w.count == 0) continue;
      written_out written(c, s, n, w);
      const node_id instead = chains ? written.chain() : written.by_value();
      if (instead == n) continue;
      const node_id written_body = with(g, s.body, n, instead);
      if (is_formula(g, written_body)) continue;  // of one place: what reads the stage takes it to be data
      s.body = written_body;
      return true;
    }
  return false;
}

}  // namespace sheaf::inline v0_1::plan
