// Where the combination of a fold has a kink, which of its pieces is differentiated. A fold may be combined in any
// order, and its derivative takes another one for each element, so halves for each of two equals would be halves of
// different things: three equals would get 1/2 + 1/4 + 1/2. Here all kinks take the piece that holds where the left
// state is a little larger, so of equals the first has the whole derivative, in every order and in every value.
// Input: the combination of a monoid. Output: expressions of equal value that differentiate so. Shown by
// tests/gradient/fold_ties.cpp.
#pragma once
#include <sheaf/dsl/passes/reduce.hpp>

namespace sheaf::inline v0_1::derivative {

// What becomes of an expression of operands where those of the left state grow against those of the right one.
enum class growth { none, up, down, unknown };
constexpr growth reversed(growth a) {
  return a == growth::up ? growth::down : a == growth::down ? growth::up : a;
}
constexpr growth both_of(growth a, growth b) {
  return a == b || b == growth::none ? a : a == growth::none ? b : growth::unknown;
}
constexpr growth growth_of(const graph& g, node_id e, int width) {
  const auto of = [&](int k) { return growth_of(g, g.arg(e, k), width); };
  switch (g.kind(e)) {
    case op::constant: return growth::none;
    case op::operand: return g[e].attribute < width ? growth::up : growth::down;
    case op::neg: return reversed(of(0));
    case op::sub: return both_of(of(0), reversed(of(1)));
    case op::add: case op::maximum: case op::minimum: return both_of(of(0), of(1));
    case op::mul: case op::div: {
      if (!is_constant(g, g.arg(e, 1))) return growth::unknown;
      return real_value(g, g.arg(e, 1)) > 0 ? of(0) : reversed(of(0));
    }
    default: return is_elementwise(g.kind(e)) && row(g.kind(e)).increasing ? of(0) : growth::unknown;
  }
}

// Does e read a value of the left state (0), of the right one (1)?
constexpr bool reads_state(const graph& g, node_id e, int width, int side) {
  if (g.kind(e) == op::operand) return g[e].attribute / width == side;
  for (int k = 0; k < g[e].count; ++k)
    if (reads_state(g, g.arg(e, k), width, side)) return true;
  return false;
}

// The combination with its kinks as choices. They are worth what they were.
class one_sided {
 public:
  constexpr one_sided(graph& g, int width) : g_(g), width_(width), epoch_(g.new_epoch()) {}

  constexpr node_id operator()(node_id e) {
    if (g_[e].count == 0 || !is_floating(g_.type(e))) return e;  // no derivative passes through conditions
    if (g_.memo_epoch[e] == epoch_) return g_.memo_value[e];
    const op kind = g_.kind(e);
    node_id list[3] = {no_node, no_node, no_node};
    for (int k = 0; k < g_[e].count; ++k) list[k] = (*this)(g_.arg(e, k));
    node_id result = kind == op::cast ? cast_to(g_, g_.type(e), list[0]) : make(g_, kind, list[0], list[1], list[2]);
    if (kind == op::maximum || kind == op::minimum)
      result = graft(g_, result, extremum(kind, list[0], list[1], rise(g_.arg(e, 0), g_.arg(e, 1))));
    if (kind == op::abs) result = graft(g_, result, distance(g_.arg(e, 0), list[0]));
    g_.memo_epoch[e] = epoch_;
    g_.memo_value[e] = result;
    return result;
  }

 private:
  constexpr growth rise(node_id a, node_id b) const {
    return both_of(growth_of(g_, a, width_), reversed(growth_of(g_, b, width_)));
  }
  // Neither side of a NaN gets anything.
  constexpr node_id extremum(op kind, node_id a, node_id b, growth of_difference) {
    const bool max = kind == op::maximum, second = of_difference == (max ? growth::down : growth::up);
    const node_id first = second ? b : a, other = second ? a : b;
    const node_id low = max ? other : first, high = max ? first : other;
    const node_id wins = make(g_, op::less_equal, low, high), loses = make(g_, op::less, high, low);
    return make(g_, op::select, wins, first, make(g_, op::select, loses, other, number_like(g_, other, 0)));
  }
  // Of one state alone abs has derivative 0 at 0, as everywhere.
  constexpr node_id distance(node_id before, node_id e) {
    const growth of = growth_of(g_, before, width_);
    const bool up = of == growth::up, apart = reads_state(g_, before, width_, 0) && reads_state(g_, before, width_, 1);
    if (!apart || (!up && of != growth::down)) return make(g_, op::abs, e);
    const node_id zero = number_like(g_, e, 0), back = make(g_, op::neg, e);
    return make(g_, op::select, make(g_, op::less, up ? e : back, zero), up ? back : e, up ? e : back);
  }

  graph& g_;
  int width_;
  std::int32_t epoch_;
};

// Is a kink of e another one where the two states change places? Then it matters which of two elements comes first.
constexpr bool has_sided_kink(graph& g, node_id e, const node_id* exchanged, std::int32_t epoch) {
  const op kind = g.kind(e);
  const bool kink = kind == op::maximum || kind == op::minimum || kind == op::abs || kind == op::sign ||
                    kind == op::equal || kind == op::not_equal || kind == op::less || kind == op::less_equal;
  for (int k = 0; k < g[e].count; ++k) {
    const node_id a = g.arg(e, k);
    if ((kink || (kind == op::select && k == 0)) && applied_once(g, a, exchanged, epoch) != a) return true;
    if (has_sided_kink(g, a, exchanged, epoch)) return true;
  }
  return false;
}

// Are elements taken in their order where this monoid is differentiated?
constexpr bool keeps_order(graph& g, monoid kind) {
  if (in_order(g, kind)) return true;
  const int width = own_row_of(g, kind).width;
  flat<node_id> exchanged;
  for (int k = 0; k < 2 * width; ++k) {
    const element type = own_row_of(g, sibling(g, kind, k % width)).type;
    exchanged.push(g.intern(op::operand, type, k < width ? k + width : k - width, nullptr, 0));
  }
  const std::int32_t epoch = g.new_epoch();
  for (int k = 0; k < width; ++k)
    if (has_sided_kink(g, own_row_of(g, sibling(g, kind, k)).combine, exchanged.data(), epoch)) return true;
  return false;
}

// Two states as one, for what is differentiated again.
constexpr flat<node_id> combined_smoothly(graph& g, monoid first, const flat<node_id>& a, const flat<node_id>& b) {
  const int width = own_row_of(g, first).width;
  flat<node_id> both = a, sided, result;
  for (const node_id v : b) both.push(v);
  one_sided of(g, width);
  for (int k = 0; k < width; ++k) sided.push(of(own_row_of(g, sibling(g, first, k)).combine));
  const std::int32_t epoch = g.new_epoch();
  for (const node_id e : sided) result.push(applied_once(g, e, both.data(), epoch));
  return result;
}

}  // namespace sheaf::inline v0_1::derivative
