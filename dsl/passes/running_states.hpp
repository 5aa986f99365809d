// The adjoint of a running fold of tuples, as that of one value (running_derivative.hpp): with J_ij the derivative of
// value i of y = f(p, x) by value j of what comes before,
//   B_j(t) = dy_j(t) + sum over i of J_ij(t + 1) * B_i(t + 1),
// and of the element's value k the cotangent is the sum of df_i/dx_k * B_i.
// Values that are made of each other are solved together, by a fold of maps of as many values; the others one after the
// other, by a fold of maps of one, where those that are solved stand among what is added. Only what reaches an element
// that waits, from a cotangent, is made. Shown by tests/gradient/running_states.cpp.
#pragma once
#include <sheaf/dsl/passes/running_derivative.hpp>

namespace sheaf::inline v0_1 {

namespace derivative {

// any: the cotangents of n's values, added up.
constexpr running running_of_states(graph& g, node_id n, node_id any) {
  if (!folds_tuple(g, n) || own_row_of(g, monoid_of(g, n)).adjoint != no_node) return {};
  const running r = running_of(g, n, g.arg(n, 0), g.free[any]);
  // Elements are asked for that a later result met, which was computed only where its cotangent says.
  const bool fails = r.over != no_node && !known_inside(g, substitute(g, g.arg(n, 0), r.bound, r.place));
  return fails && !is_true(g, guards::support(g, any)) ? running{} : r;
}

class running_states : public running_places {
 public:
  // More values that are made of each other are left to the folds before and after each element.
  static constexpr int most_together = 5;

  // dy: by value of the state, in t; no_node where there is none. waits: is the cotangent of this value asked for?
  constexpr running_states(graph& g, node_id n, const running& r, const flat<node_id>& dy, const flat<bool>& waits)
      : running_places(g, n, r), first_(sibling(g, monoid_of(g, n), 0)), width_(dy.size()), dy_(dy) {
    const node_id body = element_here();
    element_ = values_of(g, body);
    for (int k = 0; k < width_; ++k) before_.push(beside(sibling(g, first_, k), body));
    size_ = size_of_maps(g, first_, r.backward);
    for (int k = 0; k < width_ - size_ && size_ > 0; ++k)
      if (has_cotangent(k)) size_ = 0;
    live_.resize(width_, false);
    needed_ = solved_ = live_;
    later_.resize(width_, no_node);
    rest_ = later_;
    kind_.resize(width_, monoid::sum);
    by_before_.resize(width_ * width_, no_node);
    by_element_ = by_before_;
    for (int k = 0; k < width_; ++k)
      if (has_cotangent(k)) reach(k);
    for (int k = 0; k < width_; ++k)
      for (int i = 0; i < width_ && waits[k]; ++i)
        if (by_element_[at(i, k)] != no_node) need(i);
    reaches_.resize(width_ * width_, false);
    for (int j = 0; j < width_; ++j) follow(j, j);
  }

  constexpr bool too_many_together() const {
    for (int k = 0; k < width_; ++k)
      if (together(k).size() > most_together) return true;
    return false;
  }
  // In terms of t: the cotangents of the values of the element that t meets first; no_node where there is none.
  constexpr flat<node_id> operator()() {
    for (bool any = true; any;) {
      any = false;
      for (int k = 0; k < width_; ++k) {
        if (!needed_[k] || solved_[k] || !is_ready(k)) continue;
        solve(together(k));
        any = true;
      }
    }
    for (int i = 0; i < width_; ++i) {
      int readers = 0;
      for (int k = 0; k < width_; ++k)
        if (by_element_[at(i, k)] != no_node) ++readers;
      if (readers > 1) (void)later(i);
    }
    flat<node_id> list;
    for (int k = 0; k < width_; ++k) list.push(of_element(k));
    return list;
  }

 private:
  constexpr int at(int i, int j) const { return i * width_ + j; }
  constexpr bool is_part(node_id e) const { return e != no_node && !is_number(g_, e, 0); }
  constexpr bool has_cotangent(int k) const { return is_part(dy_[k]) && is_floating(g_.type(dy_[k])); }

  // Value i has a cotangent: so has what it is made of.
  constexpr void reach(int i) {
    if (live_[i]) return;
    live_[i] = true;
    if (size_ > 0) row_of_maps(i);
    else row(i);
    for (int j = 0; j < width_; ++j)
      if (by_before_[at(i, j)] != no_node) reach(j);
  }
  constexpr void row(int i) {
    const element type = own_row_of(g_, sibling(g_, first_, i)).type;
    if (!is_floating(type)) return;
    combination_adjoint backward(g_, first_, i);
    flat<node_id> unit;
    unit.resize(width_, no_node);
    unit[i] = number(g_, type, 1);
    const flat<node_id>&left = r_.backward ? element_ : before_, &right = r_.backward ? before_ : element_;
    const flat<node_id> p = backward(r_.backward ? 1 : 0, left, right, unit);
    const flat<node_id> x = backward(r_.backward ? 0 : 1, left, right, unit);
    for (int j = 0; j < width_; ++j) {
      if (is_part(p[j])) by_before_[at(i, j)] = wide(p[j]);
      if (is_part(x[j])) by_element_[at(i, j)] = wide(x[j]);
    }
  }
  // Products that leave out what is infinite are products.
  constexpr void row_of_maps(int i) {
    const int square = size_ * size_;
    for (int m = 0; m < size_; ++m) {
      const int entry = (i - square) * size_ + m;
      if (is_part(element_[entry])) by_before_[at(i, square + m)] = element_[entry];
      by_element_[at(i, entry)] = before_[square + m];
    }
    by_element_[at(i, i)] = number(g_, element::f64, 1);
  }
  // The cotangent of value i is asked for: so is that of what is made of it.
  constexpr void need(int i) {
    if (!live_[i] || needed_[i]) return;
    needed_[i] = true;
    for (int m = 0; m < width_; ++m)
      if (by_before_[at(m, i)] != no_node) need(m);
  }
  // What is made of value j, of that, and so on.
  constexpr void follow(int from, int j) {
    for (int m = 0; m < width_; ++m) {
      if (!needed_[m] || by_before_[at(m, j)] == no_node || reaches_[at(from, m)]) continue;
      reaches_[at(from, m)] = true;
      follow(from, m);
    }
  }
  constexpr flat<int> together(int k) const {
    flat<int> list;
    for (int m = 0; m < width_; ++m)
      if (m == k || (reaches_[at(k, m)] && reaches_[at(m, k)])) list.push(m);
    return list;
  }
  constexpr bool is_ready(int k) const {
    for (int m = 0; m < width_; ++m)
      if (reaches_[at(k, m)] && !solved_[m] && !reaches_[at(m, k)] && m != k) return false;
    return true;
  }

  constexpr void solve(const flat<int>& list) {
    flat<node_id> factors, gains;
    bool any = false;
    for (const int j : list) {
      node_id gain = no_node;
      for (int m = 0; m < width_; ++m) {
        const node_id factor = by_before_[at(m, j)];
        const node_id reached = list.contains(m) ? dy_here(m) : is_part(factor) ? reached_here(m) : no_node;
        if (factor != no_node && reached != no_node) gain = sum_of(gain, product_or_zero(g_, factor, reached));
      }
      any = any || gain != no_node;
      gains.push(gain == no_node ? number(g_, element::f64, 0) : kept(gain, "gain"));
      for (const int i : list) {
        const node_id factor = by_before_[at(i, j)];
        factors.push(factor == no_node ? number(g_, element::f64, 0) : kept(factor, "slope"));
      }
    }
    for (const int j : list) solved_[j] = true;
    if (!any) return;
    const int size = list.size();
    const bool adds = size == 1 && is_number(g_, factors[0], 1);
    for (int k = 0; k < size && !adds; ++k) factors.push(gains[k]);
    for (int k = 0; k < size; ++k) {
      rest_[list[k]] = adds ? gains[0] : tuple(g_, factors);
      kind_[list[k]] = adds ? monoid::sum : sibling(g_, maps(g_, size, !r_.backward), size * size + k);
    }
  }
  // What later results give to a value, at the place: where others are made of it.
  constexpr node_id later(int k) {
    if (rest_[k] == no_node || later_[k] != no_node) return later_[k];
    const node_id fold = r_.backward ? folded(kind_[k], rest_[k], g_.arg(r_.place, 0), r_.place)
                                     : folded(kind_[k], rest_[k], shifted(r_.place, 1), g_.arg(r_.place, 1));
    return later_[k] = kept(fold, "later");
  }
  constexpr node_id dy_here(int m) {
    return has_cotangent(m) && needed_[m] ? wide(substitute(g_, dy_[m], r_.over, t_here())) : no_node;
  }
  constexpr node_id sum_of(node_id a, node_id b) {
    return a == no_node ? b : b == no_node ? a : make(g_, op::add, a, b);
  }
  constexpr node_id reached_here(int m) { return needed_[m] ? sum_of(dy_here(m), later(m)) : no_node; }

  constexpr node_id of_element(int k) {
    node_id sum = no_node;
    for (int i = 0; i < width_; ++i) {
      const node_id factor = by_element_[at(i, k)];
      if (factor == no_node || !needed_[i]) continue;
      const node_id rest = rest_[i] == no_node     ? no_node
                           : later_[i] != no_node ? in_t(later_[i])
                                                  : after_t(kind_[i], rest_[i]);
      const node_id reached = sum_of(has_cotangent(i) ? wide(dy_[i]) : no_node, rest);
      if (reached != no_node) sum = sum_of(sum, product_or_zero(g_, in_t(factor), reached));
    }
    return sum == no_node ? sum : cast_to(g_, g_.type(element_[k]), sum);
  }
  using running_places::in_t;
  constexpr node_id in_t(node_id e) { return substitute(g_, e, r_.place, at_place()); }

  monoid first_;
  int width_;
  int size_ = 0;                           // of the maps that n folds; 0: it folds others
  flat<node_id> dy_, element_, before_;    // by value; the latter at the place
  flat<node_id> by_before_, by_element_;   // at(i, j): of value i, by value j; no_node where it is zero
  flat<bool> live_, needed_, solved_;
  flat<bool> reaches_;                     // at(j, m): the cotangent of j is made of that of m
  flat<node_id> rest_;                     // what is folded to what later results give to a value
  flat<monoid> kind_;
  flat<node_id> later_;                    // that, at the place
};

}  // namespace derivative

}  // namespace sheaf::inline v0_1
