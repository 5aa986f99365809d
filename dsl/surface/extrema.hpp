// Of pass `build`: where an extremum stands, and the body there. Shown by tests/numeric/positions.cpp,
// tests/numeric/policies.cpp.
#pragma once
#include <sheaf/dsl/surface/monoid_rows.hpp>

namespace sheaf::inline v0_1 {

class extrema : public rows_of_monoids {
 public:
  // Where the extremum stands, the first or the last of equals: an index itself, of several their place in the order of
  // the domain, counted from 0; -1 over nothing. NaN is beyond every number.
  constexpr node_id position(monoid kind, bool last, const bound_axis* axes, int count, node_id body) {
    resolved r = resolve(axes, count, body, {row(kind).name});
    if (r.indices.size() != count) return integer(g, -1);
    if (count == 1 && !last) return reduce(g, kind, r.body, r.condition, r.indices.data(), 1);
    node_id where = r.indices[0];
    for (int k = 0; k < count && count > 1; ++k) {
      const node_id low = g.arg(r.indices[k], 0), size = make(g, op::sub, g.arg(r.indices[k], 1), low);
      if (g.free[size].meets(bound_by(r.indices)))
        fail() << row(kind).name << ": the extent of index " << text(index_name(g, r.indices[k]))
               << " depends on another index, so that places have no order; expected one index";
      const node_id here = make(g, op::sub, r.indices[k], low);
      where = k == 0 ? here : make(g, op::add, make(g, op::mul, where, size), here);
    }
    const node_id best = reduce(g, kind == monoid::argmax ? monoid::max : monoid::min, r.body, r.condition,
                                r.indices.data(), count);
    node_id wins = make(g, op::equal, r.body, best);
    if (is_floating(g.type(r.body))) wins = make(g, op::logical_or, wins, make(g, op::not_equal, r.body, r.body));
    const monoid which = last ? monoid::max : monoid::min;
    const node_id found = reduce(g, which, where, conjunction(g, r.condition, wins), r.indices.data(), count);
    return make(g, op::select, make(g, op::equal, found, identity_of(g, which, element::i64)), integer(g, -1), found);
  }
  // The body at its first or last extremum, the identity over nothing: worth the extremum, and its derivative is that
  // of the one element. Of several indices, the innermost choose first.
  constexpr node_id at_extremum(monoid kind, bool last, const bound_axis* axes, int count, node_id body) {
    const monoid position = kind == monoid::max ? monoid::argmax : monoid::argmin;
    for (int k = count - 1; k >= 0; --k) {
      resolved r = resolve(axes + k, 1, body, {row(kind).name});
      if (r.indices.size() != 1) return body;
      const node_id idx = r.indices[0], low = g.arg(idx, 0), high = g.arg(idx, 1);
      const node_id ends = make(g, op::add, low, make(g, op::add, high, integer(g, -1)));
      const node_id mirror = last ? make(g, op::sub, ends, idx) : idx;
      node_id at =
          reduce(g, position, substitute(g, r.body, idx, mirror), substitute(g, r.condition, idx, mirror), &idx, 1);
      if (last) at = make(g, op::sub, ends, at);
      node_id found = make(g, op::logical_and, make(g, op::less_equal, low, at), make(g, op::less, at, high));
      if (!is_true(g, r.condition))
        found = conjunction(g, reduce(g, monoid::any, truth(g, true), r.condition, &idx, 1), found);
      body = make(g, op::select, found, substitute(g, r.body, idx, at), identity_of(g, kind, g.type(r.body)));
    }
    return body;
  }

 private:
  constexpr index_set bound_by(const flat<node_id>& indices) const {
    index_set set;
    for (const node_id idx : indices) set.insert(g.ordinal(idx));
    return set;
  }
};

}  // namespace sheaf::inline v0_1
