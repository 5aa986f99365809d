#include <sheaf/jit/plan/algorithms/polyphase/polyphase.hpp>

#include <algorithm>
#include <cstdlib>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::polyphase;

node_id added(graph& g, node_id a, node_id b) { return make(g, op::add, a, b); }

sliding dilated_of(graph& g, node_id n) {
  for (const node_id u : bound_indices(g, n))
    for (const node_id t : indices_of(g, g.free[n]))
      if (sliding r = dilated_along(g, n, t, u); r.over != no_node) return r;
  return {};
}

// Memory runs along the phases where it ran along t, else as it did.
stage running_along(const graph& g, const stage& s, node_id t, node_id own, node_id value) {
  stage like = s;
  like.vector = own;
  const bool inner = !s.indices.empty() && s.indices.back() != t && g.free[value].has(g.ordinal(s.indices.back()));
  if (inner && std::ranges::find(s.indices, t) != s.indices.end()) like.vector = s.indices.back();
  return like;
}

// The range of a reduction that is better laid out; over == no_node: none is.
sliding worth_it(graph& g, const facts& known, node_id n) {
  const monoid fold = monoid_of(g, n);
  if (folds_tuple(g, n) || in_order(g, fold) || row(g.type(n)).bytes < 4 || !has_closed_ranges(g, n)) return {};
  const sliding r = dilated_of(g, n);
  if (r.over == no_node || known.trips(r.over) < fewest_results) return {};
  const bool position = row(fold).position, cut = g.arg(r.bound, 0) != r.low || g.arg(r.bound, 1) != r.high;
  if (g[r.high].attribute - g[r.low].attribute < (position ? positions_from : phases_from)) return {};
  // Elements outside of a cut range could be taken for its extremum.
  if (position && (cut || g[n].count != 3 || !is_true(g, g.arg(n, 1)))) return {};
  return r;
}

}  // namespace

phases phases_of(graph& g, const sliding& r) {
  const std::int64_t d = std::abs(r.step);
  const node_id t = r.over, by = integer(g, d), one = integer(g, 1);
  const node_id first = make(g, op::quotient, g.arg(t, 0), by),
                last = make(g, op::quotient, make(g, op::sub, g.arg(t, 1), one), by);
  // Of a negative step the range is walked from its end.
  const node_id begin = r.step > 0 ? r.low : make(g, op::sub, one, r.high),
                end = r.step > 0 ? r.high : make(g, op::sub, one, r.low);
  phases l;
  l.along = fresh_index(g, t, first, added(g, last, one));
  l.part = fresh_index(g, t, integer(g, 0), by);
  l.walk = fresh_index(g, r.bound, added(g, first, begin), added(g, last, end));
  l.place = added(g, make(g, op::mul, l.walk, by), l.part);
  l.inside = conjunction(g, make(g, op::less_equal, r.first, l.place), make(g, op::less, l.place, r.last));
  l.begin = added(g, l.along, begin);
  l.end = added(g, l.along, end);
  l.at_along = make(g, op::quotient, t, by);
  l.at_part = make(g, op::remainder, t, by);
  return l;
}

node_id take_polyphase(const context& c, node_id n, const stage& s) {
  const auto& [g, known, before] = c;
  const sliding r = worth_it(g, known, n);
  if (r.over == no_node) return no_node;
  const monoid fold = monoid_of(g, n);
  const bool position = row(fold).position;
  sliding keys = r;
  if (position) keys.reduce = intern_reduce(g, monoid::max, g.type(g.arg(n, 0)), g.arg(n, 0), g.arg(n, 1), {r.bound});
  const walked w = value_along(g, keys);
  const phases l = phases_of(g, r);
  const auto at = [&](node_id load, node_id idx, node_id place) {
    replacement put(g);
    put.add(idx, place);
    return proven(g, put(load));
  };
  const node_id value = with(g, w.value, w.walk, l.place),
                none = position ? number_like(g, value, 0) : identity_of(g, fold, g.type(value));
  const std::string reason = "dilated by " + std::to_string(std::abs(r.step)) + ": each part is laid out by itself";
  const stage like = running_along(g, s, r.over, l.walk, value);
  const node_id laid =
      proven(g, stored(c, make(g, op::select, l.inside, value, none), {"laid_out", like, reason}));
  const node_id u = position ? fresh_index(g, r.bound, r.low, r.high) : fresh_index(g, l.walk, l.begin, l.end);
  const node_id place = !position ? u : r.step > 0 ? added(g, l.along, u) : make(g, op::sub, l.along, u);
  const node_id result = intern_reduce(g, fold, g.type(n), at(laid, l.walk, place), truth(g, true), {u});
  const node_id all = stored(c, result, {"of_parts", running_along(g, s, r.over, l.along, result), reason});
  return at(at(all, l.along, l.at_along), l.part, l.at_part);
}

}  // namespace sheaf::inline v0_1::plan
