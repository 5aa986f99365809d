#include <sheaf/jit/plan/algorithms/scatter/one_sided.hpp>

#include <algorithm>

#include <sheaf/dsl/passes/reduction.hpp>
#include <sheaf/jit/plan/layout.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/ranges.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::one_sided;

// A term reaches the places from its end on, or up to it.
struct one_side {
  node_id place = no_node;  // of a result, as an index
  node_id end = no_node;    // of a term
  bool above = false;       // from there on
  bool strict = false;      // the end itself is none of them
  node_id rest = no_node;   // what else is asked of a term
};

bool takes(graph& g, node_id part, node_id t, const stage& s, one_side& found) {
  const op kind = g.kind(part);
  if (kind != op::less && kind != op::less_equal) return false;
  for (const int side : {0, 1}) {
    const node_id place = g.arg(part, side), end = g.arg(part, 1 - side);
    if (std::ranges::find(s.indices, place) == s.indices.end() || !uses(g, end, t) || uses(g, end, place)) continue;
    if (!holds(g, end, op::load) || !is_integer(g.type(end)) || !is_safe(g, end)) continue;
    found.place = place, found.end = end;
    found.above = side == 1, found.strict = kind == op::less;
    return true;
  }
  return false;
}

// The conjunct of the fold's condition that names a place; there is one, and neither the value nor others name it.
one_side side_of(graph& g, node_id n, const stage& s) {
  one_side found;
  flat<node_id> list;
  deltas::conjuncts(g, g.arg(n, 1), list);
  found.rest = truth(g, true);
  for (const node_id part : list)
    if (found.place != no_node || !takes(g, part, g.arg(n, 2), s, found))
      found.rest = conjunction(g, found.rest, part);
  return found;
}

node_id summed_from_ends(const context& c, node_id n, const stage& s) {
  const auto& [g, known, before] = c;
  if (g.kind(n) != op::reduce || g[n].count != 3) return no_node;
  const monoid fold = monoid_of(g, n);
  if (g[n].attribute != static_cast<std::int64_t>(fold) || is_own(fold) || row(fold).position) return no_node;
  if (holds(g, g.arg(n, 0), op::reduce) || holds(g, g.arg(n, 1), op::reduce)) return no_node;
  const node_id t = g.arg(n, 2);
  const one_side of = side_of(g, n, s);
  if (of.place == no_node || !is_closed(g, of.place) || !is_closed(g, t)) return no_node;
  if (uses(g, of.rest, of.place) || uses(g, g.arg(n, 0), of.place)) return no_node;
  const facts& bits = known.bits();
  const bool enough = all_of({{bits.trips(t), least_terms}, {bits.trips(of.place), least_places}});
  if (!enough && !known.call().force_for_tests) return no_node;
  const node_id first = g.arg(of.place, 0), last = make(g, op::sub, g.arg(of.place, 1), integer(g, 1));
  const node_id end = cast_to(g, element::i64, of.end);
  node_id at = no_node, reaches = no_node;
  if (of.above) {
    at = make(g, op::add, make(g, op::maximum, end, make(g, op::sub, first, integer(g, of.strict ? 1 : 0))),
              integer(g, of.strict ? 1 : 0));
    reaches = make(g, of.strict ? op::less : op::less_equal, end, last);
  } else {
    at = make(g, op::sub, make(g, op::minimum, end, plus(g, last, of.strict ? 1 : 0)), integer(g, of.strict ? 1 : 0));
    reaches = make(g, of.strict ? op::less : op::less_equal, first, end);
  }
  const node_id p = of.above ? fresh_index(g, of.place, first, plus(g, of.place, 1))
                             : fresh_index(g, of.place, of.place, g.arg(of.place, 1));
  const node_id owned = unused_index(g, of.place, first, g.arg(of.place, 1), indices_in(g, n));
  const node_id condition = conjunction(g, conjunction(g, of.rest, reaches), make(g, op::equal, owned, at));
  const node_id ends = intern_reduce(g, fold, g.type(n), g.arg(n, 0), condition, {t});
  const node_id made = stored(c, ends, {"ends", layout_of(c, ends, s), "terms by the place where they end"});
  return intern_reduce(g, fold, g.type(n), with(g, proven(g, made), owned, p, proofs::kept), truth(g, true), {p});
}

}  // namespace

bool take_one_sided(const context& c, stage& s) {
  if (s.how != way::map || s.where == place::check || c.known.for_groups()) return false;
  const node_id n = without_cast(c.g, s.body), instead = summed_from_ends(c, n, s);
  if (instead == no_node) return false;
  replace_in(c.g, s, n, instead);
  return true;
}

}  // namespace sheaf::inline v0_1::plan
