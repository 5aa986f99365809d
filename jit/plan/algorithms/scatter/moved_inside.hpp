// Scatters whose subscripts are moved inside a tensor, as the gradients of clamped, reflected and wrapped accesses:
// a sum over i where j == max(min(i + 1, n - 1), 0) is one over the places of i where the subscript is i + 1, and one
// where it is n - 1. Each is affine there, so it is solved for i: no update looks for its row. Terms that read at the
// same subscript read at j. So are quotients without a remainder, as those of transposed convolutions.
// Input: a sum whose condition equates such a subscript with what its indices do not change. Output: an equal sum of
// sums. Shown by tests/jit/moved_inside.cpp.
#pragma once
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/subscript_parts.hpp>

namespace sheaf::inline v0_1::plan {

class moved_inside {
 public:
  moved_inside(graph& g, node_id n) : g_(g), n_(n), bound_(set_of(g, bound_indices(g, n))) {}

  // n itself where it is not such a sum. `as_one`: what stays one sum alone.
  node_id operator()(bool as_one = false) {
    if (monoid_of(g_, n_) != monoid::sum || holds(g_, g_.arg(n_, 1), op::load)) return n_;
    std::vector<node_id> all{truth(g_, true)};
    bool any = false;
    flat<node_id> conjuncts;
    deltas::conjuncts(g_, g_.arg(n_, 1), conjuncts);
    std::vector<node_id> list(conjuncts.begin(), conjuncts.end());
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

  node_id sum_of(const std::vector<node_id>& conditions) {
    const element type = g_.type(n_);
    const bool narrow = row(type).bytes < 4 && is_floating(type);
    replacement put = in_rows(rows_);
    const node_id terms = put(g_.arg(n_, 0)), body = narrow ? cast_to(g_, element::f32, terms) : terms;
    const std::vector<node_id> indices = bound_indices(g_, n_);
    node_id sum = no_node;
    for (const node_id c : conditions) {
      const node_id one = reduce(g_, monoid::sum, body, c, indices.data(), static_cast<int>(indices.size()));
      if (is_number(g_, one, 0)) continue;
      sum = sum == no_node ? one : make(g_, op::add, sum, one);
    }
    return sum == no_node ? identity_of(g_, monoid::sum, type) : cast_to(g_, type, sum);
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
      std::vector<part> list;
      if (!split({truth(g_, true), e}, list)) return {c};
      rows_.emplace_back(e, other);
      std::vector<node_id> conditions;
      for (const part& p : list) conditions.push_back(conjunction(g_, p.where, make(g_, op::equal, p.at, other)));
      return conditions;
    }
    return {c};
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
