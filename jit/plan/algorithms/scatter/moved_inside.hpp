// Scatters whose subscripts are moved inside a tensor, as the gradients of clamped, reflected and wrapped accesses:
// a sum over i where j == max(min(i + 1, n - 1), 0) is one over the places of i where the subscript is i + 1, and one
// where it is n - 1. Each is affine there, so it is solved for i: no update looks for its row. Terms that read at the
// same subscript read at j. So are quotients without a remainder, as those of transposed convolutions.
// Input: a sum whose condition equates such a subscript with what its indices do not change. Output: an equal sum of
// sums. Shown by tests/jit/moved_inside.cpp.
#pragma once
#include <sheaf/jit/plan/closed_bounds.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/subscript_parts.hpp>

namespace sheaf::inline v0_1::plan {

class moved_inside {
 public:
  moved_inside(graph& g, node_id n) : g_(g), n_(n), bound_(set_of(g, bound_indices(g, n))) {}

  // n itself where it is not such a sum. `as_one`: what stays one sum alone.
  node_id operator()(bool as_one = false) {
    if (monoid_of(g_, n_) != monoid::sum) return n_;
    if (holds(g_, g_.arg(n_, 1), op::load)) {
      const node_id chosen = with_data_in_terms();
      const node_id moved = chosen == n_ ? n_ : moved_inside(g_, chosen)(as_one);
      return moved == chosen ? n_ : moved;
    }
    std::vector<node_id> all{truth(g_, true)};
    flat<node_id> conjuncts;
    deltas::conjuncts(g_, g_.arg(n_, 1), conjuncts);
    std::vector<node_id> list(conjuncts.begin(), conjuncts.end());
    // What other rules found out of a condition may have left it for `reduce` to solve.
    bool any = g_[n_].attribute == static_cast<std::int64_t>(monoid::sum) &&
               std::ranges::any_of(list, [&](node_id c) { return is_line(c); });
    while (joins_division(list)) any = true;
    for (const node_id c : list) {
      std::vector<node_id> parts = parts_of(c);
      if (as_one && parts.size() != 1) parts = {c};
      any = any || parts.size() != 1 || parts.front() != c || (as_one && names_bound(c));
      std::vector<node_id> next;
      for (const node_id before : all)
        for (const node_id part : parts) next.push_back(conjunction(g_, before, part));
      if (next.size() > tuning::scatter::most_sums) return n_;
      all = std::move(next);
    }
    return any ? sum_of(all) : n_;
  }

 private:
  using part = subscript_part;

  // Data that says which terms there are, and not whose they are, as the sign of a velocity: terms are 0 without. n
  // itself where data names a row.
  node_id with_data_in_terms() {
    flat<node_id> conjuncts;
    deltas::conjuncts(g_, g_.arg(n_, 1), conjuncts);
    node_id data = truth(g_, true), rest = truth(g_, true);
    for (const node_id c : conjuncts) {
      const bool of_data = holds(g_, c, op::load);
      if (of_data && !g_.free[c].within(bound_)) return n_;
      (of_data ? data : rest) = conjunction(g_, of_data ? data : rest, c);
    }
    std::vector<node_id> list = arguments(g_, n_, 0);
    list[0] = make(g_, op::select, data, list[0], identity_of(g_, monoid::sum, g_.type(list[0])));
    list[1] = rest;
    return g_.intern(op::reduce, g_.type(n_), g_[n_].attribute, list.data(), static_cast<int>(list.size()));
  }

  node_id sum_of(const std::vector<node_id>& conditions) {
    const element type = g_.type(n_);
    const bool narrow = row(type).bytes < 4 && is_floating(type);
    replacement put = in_rows(rows_);
    const node_id terms = put(g_.arg(n_, 0)), body = narrow ? cast_to(g_, element::f32, terms) : terms;
    const std::vector<node_id> indices = bound_indices(g_, n_);
    node_id sum = no_node;
    for (const node_id c : conditions) {
      const node_id where = conjunction(g_, c, implied(c));
      const node_id one = reduce(g_, monoid::sum, body, where, indices.data(), static_cast<int>(indices.size()));
      if (is_number(g_, one, 0)) continue;
      sum = sum == no_node ? one : make(g_, op::add, sum, one);
    }
    return sum == no_node ? identity_of(g_, monoid::sum, type) : cast_to(g_, type, sum);
  }

  // What a condition on several indices, as j + u < 2 at an edge, says of one that is long, whatever the others are:
  // j < 2. Then its loop is short wherever it stands.
  node_id implied(node_id condition) {
    flat<node_id> conjuncts;
    deltas::conjuncts(g_, condition, conjuncts);
    node_id all = truth(g_, true);
    for (const node_id c : conjuncts) {
      if ((g_.kind(c) != op::less && g_.kind(c) != op::less_equal) || g_.type(g_.arg(c, 0)) != element::i64) continue;
      const node_id gap = make(g_, op::sub, g_.arg(c, 1), g_.arg(c, 0));
      for (const node_id idx : indices_of(g_, g_.free[gap].common(bound_))) {
        const line l = split_affine(g_, gap, idx);
        const bool others = l.affine && g_.free[l.rest].meets(bound_);
        if (!others || (l.slope != 1 && l.slope != -1) || is_unbound(g_, idx) || is_constant(g_, g_.arg(idx, 1)))
          continue;
        const node_id most = closed_bounds_of(g_, l.rest).most;
        if (most == no_node) continue;
        const node_id least = make(g_, op::sub, integer(g_, 0), most);
        const bool above = l.slope == 1;
        all = conjunction(g_, all, make(g_, g_.kind(c), above ? least : idx, above ? idx : most));
      }
    }
    return all;
  }

  // Not in reductions that bind an index of theirs anew.
  replacement in_rows(const std::vector<std::pair<node_id, node_id>>& rows) {
    index_set at;
    for (const auto& [e, other] : rows) at |= g_.free[e], at |= g_.free[other];
    replacement put(g_, at);
    // Of an index that is solved for, a term is evaluated where its range has no such value, too.
    if (std::ranges::all_of(rows, [&](const auto& row) { return holds(g_, row.first, op::load); }))
      put.keep_proofs();
    else
      put.drop_proofs();
    for (const node_id idx : bound_indices(g_, n_)) put.rename(idx, idx);  // whose ranges may hold what is replaced
    for (const auto& [e, other] : rows) put.add(e, other);
    return put;
  }

  // Where e is a multiple of d, j == e / d says e == j * d, of which an index of e can be solved.
  bool joins_division(std::vector<node_id>& list) {
    for (node_id& c : list)
      for (int k = 0; k < 2 && g_.kind(c) == op::equal; ++k) {
        const node_id e = g_.arg(c, k), other = g_.arg(c, 1 - k);
        if (g_.kind(e) != op::quotient || !is_constant(g_, g_.arg(e, 1)) || g_[g_.arg(e, 1)].attribute < 1) continue;
        if (g_.type(e) != element::i64 || !g_.free[e].meets(bound_) || g_.free[other].meets(bound_)) continue;
        const node_id rest = make(g_, op::remainder, g_.arg(e, 0), g_.arg(e, 1));
        const auto whole = std::ranges::find_if(list, [&](node_id r) {
          return g_.kind(r) == op::equal && g_.arg(r, 0) == rest && is_number(g_, g_.arg(r, 1), 0);
        });
        if (whole == list.end()) continue;
        const node_id joined = make(g_, op::equal, g_.arg(e, 0), make(g_, op::mul, other, g_.arg(e, 1)));
        c = joined;
        list.erase(whole);
        rows_.emplace_back(e, other);
        replacement put = in_rows({{e, other}});
        for (node_id& each : list)
          if (each != joined) each = put(each);
        return true;
      }
    return false;
  }

  // Does it say what a bound index is, as one that moves with it by one?
  bool is_line(node_id c) const {
    if (g_.kind(c) != op::equal || g_.type(g_.arg(c, 0)) != element::i64) return false;
    for (int k = 0; k < 2; ++k) {
      const node_id e = g_.arg(c, k);
      if (g_.free[g_.arg(c, 1 - k)].meets(bound_)) continue;
      for (const node_id idx : indices_of(g_, g_.free[e].common(bound_))) {
        const line l = split_affine(g_, e, idx);
        if (l.affine && (l.slope == 1 || l.slope == -1) && !g_.free[l.rest].meets(bound_)) return true;
      }
    }
    return false;
  }

  // Is a bound index what is outside of the sum?
  bool names_bound(node_id c) const {
    if (g_.kind(c) != op::equal) return false;
    for (int k = 0; k < 2; ++k) {
      const node_id idx = g_.arg(c, k);
      if (g_.kind(idx) == op::index && bound_.has(g_.ordinal(idx)) && !g_.free[g_.arg(c, 1 - k)].meets(bound_))
        return true;
    }
    return false;
  }

  // An equality as conditions of which one holds where it does.
  std::vector<node_id> parts_of(node_id c) {
    if (g_.kind(c) != op::equal || g_.type(g_.arg(c, 0)) != element::i64) return {c};
    for (int k = 0; k < 2; ++k) {
      const node_id e = g_.arg(c, k), other = g_.arg(c, 1 - k);
      if (!g_.free[e].meets(bound_) || g_.free[other].meets(bound_)) continue;
      if (const auto solved = solved_remainder(e, other); !solved.empty()) {
        rows_.emplace_back(e, other);
        return solved;
      }
      std::vector<part> list;
      if (!split({truth(g_, true), e}, list)) return {c};
      rows_.emplace_back(e, other);
      std::vector<node_id> conditions;
      for (const part& p : list) conditions.push_back(conjunction(g_, p.where, make(g_, op::equal, p.at, other)));
      return conditions;
    }
    return {c};
  }

  // Of an equality that holds a remainder of several indices, as of a window that wraps, (i + u) % n == j: the places
  // i == (j - u) % n of an index that has each remainder at most once. Nothing where it is no such equality.
  std::vector<node_id> solved_remainder(node_id e, node_id other) {
    const node_id r = first_moved(e);
    if (r == no_node || g_.kind(r) != op::remainder || g_.type(r) != element::i64) return {};
    const node_id s = g_.arg(r, 0), by = g_.arg(r, 1);
    if (g_.free[by].meets(bound_) || indices_of(g_, g_.free[s].common(bound_)).size() < 2) return {};
    std::vector<part> values;
    if (!values_of(e, r, other, values)) return {};
    for (const node_id idx : bound_indices(g_, n_)) {
      if (is_unbound(g_, idx) || !has_at_most(g_, make(g_, op::sub, g_.arg(idx, 1), g_.arg(idx, 0)), by)) continue;
      const line l = split_affine(g_, s, idx);
      if (!l.affine || (l.slope != 1 && l.slope != -1)) continue;
      const node_id low = g_.arg(idx, 0), zero = integer(g_, 0);
      std::vector<node_id> conditions;
      for (const part& v : values) {
        const node_id apart = l.slope == 1 ? make(g_, op::sub, v.at, l.rest) : make(g_, op::sub, l.rest, v.at);
        const node_id place = make(g_, op::remainder, make(g_, op::sub, apart, low), by);
        const node_id within = conjunction(g_, make(g_, op::less_equal, zero, v.at), make(g_, op::less, v.at, by));
        const node_id here = make(g_, op::equal, idx, make(g_, op::add, place, low));
        conditions.push_back(conjunction(g_, conjunction(g_, v.where, within), here));
      }
      return conditions;
    }
    return {};
  }
  // The values of r, each under a condition, at which e is `other`.
  bool values_of(node_id e, node_id r, node_id other, std::vector<part>& list) {
    if (e == r) {
      list.push_back({truth(g_, true), other});
      return true;
    }
    const op kind = g_.kind(e);
    if (!is_elementwise(kind) || g_[e].count != 2) return false;
    const node_id a = g_.arg(e, 0), b = g_.arg(e, 1);
    const bool in_a = g_.free[a].meets(bound_), in_b = g_.free[b].meets(bound_);
    if (kind == op::minimum || kind == op::maximum) {
      const node_id low = kind == op::minimum ? a : b, high = kind == op::minimum ? b : a;
      return values_where(a, make(g_, op::less_equal, low, high), r, other, list) &&
             values_where(b, make(g_, op::less, high, low), r, other, list);
    }
    if (in_a == in_b || (kind != op::add && kind != op::sub)) return false;
    if (in_a) return values_of(a, r, make(g_, kind == op::add ? op::sub : op::add, other, b), list);
    return values_of(b, r, kind == op::add ? make(g_, op::sub, other, a) : make(g_, op::sub, a, other), list);
  }
  bool values_where(node_id e, node_id where, node_id r, node_id other, std::vector<part>& list) {
    if (!g_.free[e].meets(bound_)) return false;
    const std::size_t first = list.size();
    if (!values_of(e, r, other, list)) return false;
    for (std::size_t k = first; k < list.size(); ++k) {
      replacement put(g_);
      put.keep_indices(where);
      put.rename(r, list[k].at);
      const node_id here = put(where);
      if (g_.free[here].meets(bound_)) return false;
      list[k].where = conjunction(g_, list[k].where, here);
    }
    return true;
  }

  // Arguments before what is made of them. What an index's range has moves no subscript.
  node_id first_moved(node_id e) const {
    const op kind = g_.kind(e);
    if (!is_elementwise(kind) || !g_.free[e].meets(bound_)) return no_node;
    for (int k = 0; k < g_[e].count; ++k)
      if (const node_id found = first_moved(g_.arg(e, k)); found != no_node) return found;
    return kind == op::minimum || kind == op::maximum || kind == op::remainder ? e : no_node;
  }

  bool split(const part& whole, std::vector<part>& list) {
    const node_id first = first_moved(whole.at);
    if (first == no_node) {
      list.push_back(whole);
      return list.size() <= tuning::scatter::most_sums && is_affine(whole.at);
    }
    const auto choices = g_.kind(first) == op::remainder ? parts_of_remainder(g_, first, bound_) : of_extremum(first);
    for (const part& chosen : choices) {
      replacement put(g_);
      put.keep_indices(whole.at);
      put.rename(first, chosen.at);
      if (!split({conjunction(g_, whole.where, chosen.where), put(whole.at)}, list)) return false;
    }
    return !choices.empty();
  }
  bool is_affine(node_id e) {
    for (const node_id idx : indices_of(g_, g_.free[e].common(bound_)))
      if (!split_affine(g_, e, idx).affine) return false;
    return true;
  }

  std::vector<part> of_extremum(node_id e) {
    const bool least = g_.kind(e) == op::minimum;
    const node_id a = g_.arg(e, 0), b = g_.arg(e, 1), low = least ? a : b, high = least ? b : a;
    if (!is_affine(a) || !is_affine(b)) return {};
    // a where low <= high, else b
    std::vector<part> list;
    if (is_at_most(low, high)) return {{truth(g_, true), a}};
    list.push_back({make(g_, op::less_equal, low, high), a});
    list.push_back({make(g_, op::less, high, low), b});
    return list;
  }

  // Wherever there are terms.
  bool is_at_most(node_id a, node_id b) {
    if (known_less_equal(g_, a, b)) return true;
    for (const node_id idx : bound_indices(g_, n_))  // low <= high - 1
      if (known_less_equal(g_, a, g_.arg(idx, 0)) && known_less_equal(g_, g_.arg(idx, 1), plus(g_, b, 1))) return true;
    return false;
  }

  graph& g_;
  const node_id n_;
  const index_set bound_;
  std::vector<std::pair<node_id, node_id>> rows_;  // a subscript, and the row that it is wherever there is a term
};

}  // namespace sheaf::inline v0_1::plan
