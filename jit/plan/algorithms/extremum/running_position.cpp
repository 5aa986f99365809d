#include <sheaf/jit/plan/algorithms/extremum/running_position.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/algorithms/extremum/rebound.hpp>
#include <sheaf/jit/plan/compared.hpp>
#include <sheaf/jit/plan/layout.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/sliding.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// Where the extremum of a range stands: at the first of equals, or the last. A NaN is the extremum.
struct place {
  monoid extremum;
  node_id key, where, u;
  bool last;
};

class running_place {
 public:
  running_place(const context& c, const stage& s, const place& p) : c(c), g(c.g), s(s), p(p) {}

  // Nowhere: `none`, which takes a place among numbers. no_node: the range does not run.
  node_id operator()(node_id none) {
    const node_id keys = intern_reduce(g, p.extremum, g.type(p.key), p.key, p.where, {p.u});
    for (const node_id over : indices_of(g, g.free[keys])) {
      r = sliding_along(g, keys, over, p.u);
      if (r.over == no_node || uses(g, r.low, over) == uses(g, r.high, over)) continue;
      backward = uses(g, r.low, over);
      return found(none);
    }
    return no_node;
  }

 private:
  void walk_along() {
    const walked w = value_along(g, r);
    walk = w.walk;
    condition = along_walk(g, r, walk, g.arg(r.reduce, 1));
    value = cast_to(g, g.type(w.value) == element::boolean ? element::i64 : g.type(w.value), w.value);
    if (!holds(g, value, op::reduce) && is_exact(g, along_walk(g, r, walk, g.arg(r.reduce, 0)))) return;
    value = kept(value, "materialised", "compared with the extremum so far");
  }

  node_id found(node_id none) {
    walk_along();
    const node_id extremum = run(p.extremum, value), known = known_as(g, extremum, walk, c.before);
    const node_id top = known != no_node
                            ? proven(g, known)
                            : kept(extremum, "running", "the extremum so far, which says where a position is");
    // Of equals in the order of the scan.
    const node_id here = p.last == backward ? changes(top) : meets(top);
    const monoid fold = backward ? monoid::min : monoid::max;
    const node_id nowhere = identity_of(g, fold, element::i64);
    const node_id position =
        kept(run(fold, make(g, op::select, here, walk, nowhere)), "position", "where the extremum so far stands");
    return looked_up(position, nowhere, none);
  }

  node_id looked_up(node_id position, node_id nowhere, node_id none) {
    node_id at = with(g, position, walk, backward ? r.low : plus(g, r.high, -1));
    node_id some = make(g, op::less, r.low, r.high);
    if (known_less_equal(g, plus(g, r.low, 1), r.high)) at = proven(g, at);
    if (!is_true(g, condition)) some = conjunction(g, some, make(g, op::not_equal, at, nowhere));
    return make(g, op::select, some, make(g, op::sub, at, make(g, op::mul, r.over, integer(g, r.stride))), none);
  }

  node_id meets(node_id top) {
    node_id here = make(g, op::equal, value, top);
    if (is_floating(g.type(value))) here = make(g, op::logical_or, here, make(g, op::not_equal, value, value));
    return conjunction(g, condition, here);
  }

  // Where it is another than before, or the first. NaN stays.
  node_id changes(node_id top) {
    const node_id before = previous(top);
    node_id here = make(g, op::not_equal, top, before);
    if (is_floating(g.type(value))) here = conjunction(g, make(g, op::equal, before, before), here);
    return conjunction(g, condition, make(g, op::logical_or, is_first(), here));
  }
  node_id is_first() {
    if (is_true(g, condition))
      return make(g, op::equal, walk, backward ? plus(g, g.arg(walk, 1), -1) : g.arg(walk, 0));
    const node_id some = kept(run(monoid::any, condition), "some", "whether the extremum so far is one of any element");
    return make(g, op::logical_not, previous(some));  // beyond the ends, where the load masks itself, there is 0
  }
  node_id previous(node_id loaded) { return with(g, loaded, walk, plus(g, walk, backward ? 1 : -1)); }

  // The fold of what the scan has come by.
  node_id run(monoid fold, node_id e) {
    const node_id by = backward ? fresh_index(g, walk, walk, g.arg(walk, 1))
                                : fresh_index(g, walk, g.arg(walk, 0), plus(g, walk, 1));
    return intern_reduce(g, fold, g.type(e), with(g, e, walk, by, proofs::kept), truth(g, true), {by});
  }
  node_id kept(node_id e, const char* name, const char* reason) {
    return proven(g, stored(c, e, {name, layout_of(c, e, s), reason}));
  }

  const context& c;
  graph& g;
  const stage& s;
  const place& p;
  bool backward = false;  // the range begins at the index outside
  sliding r;
  node_id walk = no_node, value = no_node, condition = no_node;
};

// An argmax or argmin, also of a range that its index runs down: then of equals the last is meant.
node_id position_of(const context& c, const stage& s, node_id n) {
  graph& g = c.g;
  const node_id u = bound_indices(g, n)[0], ends = make(g, op::add, g.arg(u, 0), plus(g, g.arg(u, 1), -1));
  place p{monoid_of(g, n) == monoid::argmax ? monoid::max : monoid::min, g.arg(n, 0), g.arg(n, 1), u, false};
  if (const node_id first = running_place(c, s, p)(integer(g, -1)); first != no_node) return first;
  if (binds(g, p.key, g.free[ends]) || binds(g, p.where, g.free[ends])) return no_node;
  const node_id turned = make(g, op::sub, ends, u), none = plus(g, ends, 1);
  p = {p.extremum, with(g, p.key, u, turned), with(g, p.where, u, turned), u, true};
  const node_id last = running_place(c, s, p)(none);
  return last == no_node ? no_node : make(g, op::sub, ends, last);
}

// Does c ask for places where the key is the extremum of all places of `where`, or NaN?
bool asks_for_extremum(graph& g, node_id c, node_id where, place& p) {
  const auto equality = [&](node_id e) {
    for (int k = 0; k < 2 && g.kind(e) == op::equal; ++k) {
      const node_id top = g.arg(e, k);
      if (!is_extremum(g, top) || bound_indices(g, top).size() != 1) continue;
      const node_id v = bound_indices(g, top)[0];
      const bool same = g.arg(v, 0) == g.arg(p.u, 0) && g.arg(v, 1) == g.arg(p.u, 1) &&
                        with(g, g.arg(top, 0), v, p.u) == g.arg(e, 1 - k) && with(g, g.arg(top, 1), v, p.u) == where;
      if (!same) continue;
      p.extremum = monoid_of(g, top), p.key = g.arg(e, 1 - k), p.where = where;
      return true;
    }
    return false;
  };
  if (g.kind(c) != op::logical_or) return equality(c) && !is_floating(g.type(p.key));
  for (int k = 0; k < 2; ++k)
    if (equality(g.arg(c, k)) && g.arg(c, 1 - k) == make(g, op::not_equal, p.key, p.key)) return true;
  return false;
}

// The greatest or the least of the places where an extremum stands.
node_id end_of_places(const context& c, const stage& s, node_id n) {
  graph& g = c.g;
  place p{.extremum = monoid::max, .key = no_node, .where = no_node, .u = bound_indices(g, n)[0],
          .last = monoid_of(g, n) == monoid::max};
  if (g.arg(n, 0) != p.u) return no_node;
  flat<node_id> conditions;
  deltas::conjuncts(g, g.arg(n, 1), conditions);
  for (int k = 0; k < conditions.size(); ++k)
    if (asks_for_extremum(g, conditions[k], deltas::conjunction_without(g, conditions, k), p))
      return running_place(c, s, p)(identity_of(g, monoid_of(g, n), element::i64));
  return no_node;
}

}  // namespace

bool take_running_position(const context& c, stage& s) {
  graph& g = c.g;
  if (s.how != way::map && s.how != way::scatter) return false;
  for (const node_id n : reductions_in(g, s.body)) {
    if (bound_indices(g, n).size() != 1 || !has_closed_ranges(g, n)) continue;
    node_id position = no_node;
    if (row(monoid_of(g, n)).position) position = position_of(c, s, n);
    else if (is_extremum(g, n)) position = end_of_places(c, s, n);
    if (position == no_node) continue;
    replace_in(g, s, n, position);
    return true;
  }
  return false;
}

}  // namespace sheaf::inline v0_1::plan
