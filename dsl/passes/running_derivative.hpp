// The adjoint of a running fold, y(t) = fold of x(s) over the places s before t (or after it), without a sum over t for
// each s. With p the fold of what comes before a place, y = f(p, x) there, so with J = df/dp the cotangents obey
//   B(t) = dy(t) + J(t + 1) * B(t + 1),   and of an element it is df/dx * B:
// one more running fold, of the maps h -> b + a * h, whose own derivative is of this kind again. Nothing is divided by.
// What may be infinite counts as nothing times 0, as where a term is left out. Shown by tests/jit/running.cpp.
#pragma once
#include <sheaf/dsl/passes/fold_derivative.hpp>
#include <sheaf/dsl/passes/powers.hpp>

namespace sheaf::inline v0_1 {

namespace derivative {

// a * b, where 0 leaves out what may be infinite. As an expression of either it is a product, so its derivatives are
// right.
constexpr node_id product_or_zero(graph& g, node_id a, node_id b) {
  if (is_number(g, a, 1)) return b;
  if (is_number(g, b, 1)) return a;
  const node_id zero = number_like(g, a, 0), infinite = number_like(g, a, math::infinity);
  const auto finite_or_zero = [&](node_id e, node_id by) {
    const node_id finite = make(g, op::less, make(g, op::abs, e), infinite);
    return make(g, op::select, make(g, op::logical_or, finite, make(g, op::not_equal, by, zero)), e, zero);
  };
  const node_id left = finite_or_zero(a, b), right = finite_or_zero(b, a);
  return make(g, op::mul, left, right);
}

// The monoid of maps h -> b + A * h of `size` values, in f64: A row by row, then b. Backward, the last is applied
// first.
constexpr flat<own_monoid_row> rows_of_maps(graph& g, int size, bool backward) {
  const element type = element::f64;
  const int square = size * size, width = square + size;
  const auto operand = [&](bool then, int k) {
    return g.intern(op::operand, type, (then != backward ? width : 0) + k, nullptr, 0);
  };
  // Of row i of what is applied last, by a column of the other.
  const auto product = [&](int i, int first, int step) {
    node_id sum = no_node;
    for (int m = 0; m < size; ++m) {
      const node_id part = product_or_zero(g, operand(true, i * size + m), operand(false, first + m * step));
      sum = sum == no_node ? part : make(g, op::add, sum, part);
    }
    return sum;
  };
  flat<char> text;
  for (const char c : {'c', 'h', 'a', 'i', 'n'}) text.push(c);
  if (size > 1) text.push(static_cast<char>('0' + size));
  for (const char c : {'_', 'b', 'a', 'c', 'k'})
    if (backward) text.push(c);
  const name_id name = g.name(text.data(), text.size());
  flat<own_monoid_row> rows;
  for (int k = 0; k < square; ++k) {
    const node_id unit = number(g, type, k / size == k % size ? 1 : 0);
    rows.push({name, type, unit, product(k / size, k % size, size), no_node, k, width, true});
  }
  for (int k = 0; k < size; ++k) {
    const node_id value = make(g, op::add, operand(true, square + k), product(k, square, 1));
    rows.push({name, type, number(g, type, 0), value, no_node, square + k, width, true});
  }
  return rows;
}
// Where such rows stand in the graph; -1: nowhere.
constexpr int place_of(const graph& g, const flat<own_monoid_row>& rows) {
  for (int first = 0; first + rows.size() <= g.monoids.size(); ++first) {
    bool same = true;
    for (int k = 0; same && k < rows.size(); ++k) {
      const own_monoid_row& m = g.monoids[first + k];
      same = m.combine == rows[k].combine && m.identity == rows[k].identity && m.adjoint == no_node &&
             m.component == k && m.width == rows.size() && m.in_order;
    }
    if (same) return first;
  }
  return -1;
}
constexpr monoid maps(graph& g, int size, bool backward) {
  const flat<own_monoid_row> rows = rows_of_maps(g, size, backward);
  int first = place_of(g, rows);
  if (first < 0) {
    first = g.monoids.size();
    for (int k = 0; k < rows.size(); ++k) g.monoids.push(rows[k]);
  }
  return own_kind(first);
}
// How many values are mapped; 0: it is no such monoid.
constexpr int size_of_maps(graph& g, monoid kind, bool backward) {
  const int width = own_row_of(g, kind).width;
  for (int size = 1; size * size + size <= width; ++size)
    if (size * size + size == width)
      return place_of(g, rows_of_maps(g, size, backward)) == own_number(sibling(g, kind, 0)) ? size : 0;
  return 0;
}

// Of one value; that of a fold is what becomes of 0.
constexpr monoid chain(graph& g, bool backward) { return sibling(g, maps(g, 1, backward), 1); }
constexpr bool is_chain(graph& g, monoid kind) {
  if (!is_own(kind) || own_row_of(g, kind).width != 2) return false;
  return size_of_maps(g, kind, false) > 0 || size_of_maps(g, kind, true) > 0;
}

// Of a fold over s in [low, t + shift), or backward [t + shift, high).
struct running {
  node_id over = no_node;  // t; none: it is no running fold
  node_id bound = no_node;
  node_id place = no_node;  // s by another name, wherever it may be for any t
  std::int64_t shift = 0;
  bool backward = false;
};

// An index like one, under a name that is not among those taken.
constexpr node_id other_index(graph& g, node_id like, const index_set& taken, node_id low, node_id high) {
  for (int serial = index_serial(g, like) + 1;; ++serial) {
    const node_id made = index(g, index_name(g, like), serial, low, high);
    if (!taken.has(g.ordinal(made))) return made;
  }
}

// value: what of the element must not depend on t.
constexpr running running_of(graph& g, node_id n, node_id value, index_set of_cotangent) {
  if (g[n].count != 3 || !is_true(g, g.arg(n, 1))) return {};
  const auto closed = [&](node_id e) { return g.free[e].empty() && !may_fail(g, e); };
  const node_id s = g.arg(n, 2);
  for (const bool backward : {false, true}) {
    const node_id moving = g.arg(s, backward ? 0 : 1), fixed = g.arg(s, backward ? 1 : 0);
    const bool shifted = g.kind(moving) == op::add && is_constant(g, g.arg(moving, 1));
    const node_id t = shifted ? g.arg(moving, 0) : moving;
    if (!closed(fixed) || g.kind(t) != op::index || is_unbound(g, t)) continue;
    if (!closed(g.arg(t, 0)) || !closed(g.arg(t, 1))) continue;
    const std::int64_t shift = shifted ? g[g.arg(moving, 1)].attribute : 0;
    const auto plus = [&](node_id e, std::int64_t k) { return make(g, op::add, e, integer(g, k)); };
    // From t to t it is one place more, and each place is the newest of some t.
    const node_id first = plus(g.arg(t, 0), shift), last = plus(g.arg(t, 1), shift);
    if (!(backward ? known_less_equal(g, fixed, last) : known_less_equal(g, first, plus(fixed, 1)))) continue;
    index_set taken = g.free[g.arg(n, 0)];
    taken |= of_cotangent;
    const node_id place =
        backward ? other_index(g, s, taken, first, fixed) : other_index(g, s, taken, fixed, plus(last, -1));
    if (g.free[substitute(g, value, s, place)].has(g.ordinal(t))) continue;
    return {t, s, place, shift, backward};
  }
  return {};
}

// Does what an expression loads lie inside, as its indices' ranges and what is checked of extents say? What was looked
// at in this epoch is, or the answer is known.
constexpr bool known_inside(graph& g, node_id e, std::int32_t epoch) {
  if (g.memo_epoch[e] == epoch || !may_fail(g, e)) return true;
  g.memo_epoch[e] = epoch;
  const op kind = g.kind(e);
  if (kind == op::stop_gradient && g[e].count == 3) return false;
  for (int k = kind == op::load ? 1 : 0; k < g[e].count; ++k) {
    const node_id a = g.arg(e, k);
    if (!known_inside(g, a, epoch)) return false;
    if (kind == op::reduce && k > 1)
      for (const int end : {0, 1})
        if (!known_inside(g, g.arg(a, end), epoch)) return false;
    if (kind != op::load || is_safe_subscript(g, g.arg(e, 0), k - 1, a)) continue;
    const node_id tensor = g.arg(e, 0), own = g.kind(tensor) == op::define ? g.arg(tensor, k) : no_node;
    const node_id low = own == no_node ? integer(g, 0) : g.arg(own, 0);
    const node_id high = own == no_node ? extent(g, tensor, k - 1) : g.arg(own, 1);
    if (!is_true(g, range_condition(g, a, low, high))) return false;
  }
  return true;
}
constexpr bool known_inside(graph& g, node_id e) { return known_inside(g, e, g.new_epoch()); }

// What running folds have in common: expressions at a place, in terms of it or of t.
class running_places {
 public:
  constexpr running_places(graph& g, node_id n, const running& r) : g_(g), n_(n), r_(r) {
    taken_ = g.free[g.arg(n, 0)];
    taken_.insert(g.ordinal(r.over));
    taken_.insert(g.ordinal(r.place));
  }

  // The one place of s that t meets first.
  constexpr node_id meets() { return make(g_, op::equal, r_.bound, at_place()); }

 protected:
  constexpr node_id wide(node_id e) { return cast_to(g_, element::f64, e); }
  constexpr node_id shifted(node_id e, std::int64_t by) { return make(g_, op::add, e, integer(g_, by)); }
  constexpr node_id at_place() { return shifted(r_.over, r_.backward ? r_.shift : r_.shift - 1); }
  constexpr node_id t_here() { return shifted(r_.place, r_.backward ? -r_.shift : 1 - r_.shift); }
  constexpr node_id element_here() { return substitute(g_, g_.arg(n_, 0), r_.bound, r_.place); }

  constexpr node_id folded(monoid kind, node_id body, node_id low, node_id high) {
    index_set taken = taken_;
    taken |= g_.free[body];
    const node_id u = other_index(g_, r_.place, taken, low, high);
    return reduce(g_, kind, substitute(g_, body, r_.place, u), truth(g_, true), &u, 1);
  }
  // The fold of what n has folded before it comes to the place.
  constexpr node_id beside(monoid kind, node_id body) {
    const node_id fold = r_.backward ? folded(kind, body, shifted(r_.place, 1), g_.arg(r_.place, 1))
                                     : folded(kind, body, g_.arg(r_.place, 0), r_.place);
    return kept(fold, "before");
  }
  // The fold of what n folds after the place that t meets first: in t.
  constexpr node_id after_t(monoid kind, node_id body) {
    const node_id low = g_.arg(r_.place, 0), high = g_.arg(r_.place, 1), edge = at_place(), next = shifted(edge, 1);
    const node_id begin = known_less_equal(g_, low, next) ? next : make(g_, op::maximum, low, next);
    const node_id end = known_less_equal(g_, edge, high) ? edge : make(g_, op::minimum, edge, high);
    return folded(kind, body, r_.backward ? low : begin, r_.backward ? end : high);
  }
  // A value with a reduction in it becomes a definition over all places: so it is computed once, and what it is made of
  // is differentiated there. Its axes lie as those of what is folded.
  constexpr node_id kept(node_id e, const char* name) {
    if (!holds_reduction(g_, e)) return e;
    flat<node_id> list, order;
    collect_axes(g_.arg(n_, 0), g_.new_epoch(), order);
    for (int o = 0; o < g_.indices.size(); ++o)
      if (!order.contains(g_.indices[o])) order.push(g_.indices[o]);
    for (const node_id axis : order) {
      const node_id idx = axis == r_.bound ? r_.place : axis;
      if (!g_.free[e].has(g_.ordinal(idx)) || list.contains(idx)) continue;
      if (is_unbound(g_, idx) || !g_.free[g_.arg(idx, 0)].empty() || !g_.free[g_.arg(idx, 1)].empty()) return e;
      if (may_fail(g_, g_.arg(idx, 0)) || may_fail(g_, g_.arg(idx, 1))) return e;
      list.push(idx);
    }
    const node_id made = define(g_, g_.name(name, name_length(name)), e, list.data(), list.size());
    return load(g_, made, list.data(), list.size());
  }
  constexpr void collect_axes(node_id e, std::int32_t epoch, flat<node_id>& order) {
    if (g_.memo_epoch[e] == epoch) return;
    g_.memo_epoch[e] = epoch;
    const bool loads = g_.kind(e) == op::load;
    for (int k = loads ? 1 : 0; k < g_[e].count; ++k) {
      const node_id a = g_.arg(e, k);
      if (g_.kind(a) == op::index && loads && !order.contains(a)) order.push(a);
      if (g_.kind(a) != op::index) collect_axes(a, epoch, order);
    }
  }
  static constexpr int name_length(const char* name) {
    int n = 0;
    while (name[n] != 0) ++n;
    return n;
  }
  constexpr node_id in_t(node_id slope, node_id reached, node_id like) {
    const node_id here = substitute(g_, slope, r_.place, at_place());
    return cast_to(g_, g_.type(like), product_or_zero(g_, here, reached));
  }

  graph& g_;
  node_id n_;
  running r_;
  index_set taken_;
};

class running_adjoint : public running_places {
 public:
  using running_places::running_places;

  // In terms of t: the cotangent of the element that t meets first.
  constexpr node_id of_product(node_id dy) {
    const node_id x = wide(element_here()), before = beside(monoid::prod, x);
    return in_t(before, chained(x, dy), g_.arg(n_, 0));
  }
  // Ties share evenly: they end where the extremum changes.
  constexpr node_id of_extremum(node_id dy) {
    const monoid kind = monoid_of(g_, n_);
    const node_id x = element_here(), before = beside(kind, x), top = combined(g_, kind, before, x);
    const node_id hit = wide(make(g_, op::equal, x, top)), same = wide(make(g_, op::equal, before, top));
    const node_id ties = until_t(r_.backward, same, hit);
    return in_t(hit, chained(same, make(g_, op::div, wide(dy), ties)), g_.arg(n_, 0));
  }
  // A sum of exp(a(s) - c(t)), by a.
  constexpr node_id of_exponentials(node_id dy) {
    const power term = power_of(g_, g_.arg(n_, 0));
    const node_id a = term.value, c = wide(term.centre);
    const node_id here = substitute(g_, c, r_.over, t_here());
    const node_id before = substitute(g_, c, r_.over, make(g_, op::add, t_here(), integer(g_, r_.backward ? 1 : -1)));
    const node_id slope = make(g_, op::exp, make(g_, op::sub, before, here));
    const node_id x = wide(substitute(g_, a, r_.bound, r_.place));
    return in_t(make(g_, op::exp, make(g_, op::sub, x, here)), chained(slope, dy), a);
  }
  // Of a monoid of one value.
  constexpr node_id of_fold(node_id dy) {
    const monoid kind = monoid_of(g_, n_);
    const node_id x = element_here(), before = beside(kind, x);
    const node_id left = r_.backward ? x : before, right = r_.backward ? before : x;
    node_id by_before = no_node, by_element = no_node;
    if (own_row_of(g_, kind).adjoint != no_node) {
      const node_id until = combined(g_, kind, left, right);
      by_before = applied(g_, own_row_of(g_, kind).adjoint, before, until);
      by_element = applied(g_, own_row_of(g_, kind).adjoint, x, until);
    } else {
      combination_adjoint backward(g_, kind);
      flat<node_id> a, b, unit;
      a.push(left);
      b.push(right);
      unit.push(number_like(g_, n_, 1));
      by_before = backward(r_.backward ? 1 : 0, a, b, unit)[0];
      by_element = backward(r_.backward ? 0 : 1, a, b, unit)[0];
    }
    if (by_element == no_node) return number_like(g_, n_, 0);
    if (by_before == no_node) by_before = number_like(g_, n_, 0);
    return in_t(wide(by_element), chained(wide(by_before), dy), g_.arg(n_, 0));
  }
  // Of a chain, by its two values.
  constexpr flat<node_id> of_chain(node_id dy) {
    const node_id pair = substitute(g_, g_.arg(n_, 0), r_.bound, r_.place);
    const node_id slope = g_.arg(pair, 0), before = beside(monoid_of(g_, n_), pair);
    const node_id reached = chained(slope, dy);
    flat<node_id> list;
    list.push(in_t(before, reached, n_));
    list.push(reached);
    return list;
  }

 private:
  // In t: a chain over what n folds.
  constexpr node_id until_t(bool backward, node_id slope, node_id value) {
    flat<node_id> pair;
    pair.push(slope);
    pair.push(value);
    const node_id edge = at_place();
    return folded(chain(g_, backward), tuple(g_, pair), backward ? edge : g_.arg(r_.place, 0),
                  backward ? g_.arg(r_.place, 1) : shifted(edge, 1));
  }
  // B: in t.
  constexpr node_id chained(node_id slope, node_id dy) {
    flat<node_id> pair;
    pair.push(kept(slope, "slope"));
    pair.push(kept(product_or_zero(g_, pair[0], wide(substitute(g_, dy, r_.over, t_here()))), "gain"));
    return make(g_, op::add, wide(dy), after_t(chain(g_, !r_.backward), tuple(g_, pair)));
  }
};

}  // namespace derivative

}  // namespace sheaf::inline v0_1
