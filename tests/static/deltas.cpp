// Each row of the table of deltas, as the printed gradient of a sum of loads.
#include <sheaf/dsl/graph/print.hpp>
#include <sheaf/dsl/passes/differentiate.hpp>

#include "support/reads.hpp"

namespace {
using namespace sheaf;

struct program {
  graph g;
  node_id x, y, pick, cut, i, j;
  constexpr program() {
    const std::int64_t any[2] = {dynamic, dynamic};
    x = input(g, g.name("x", 1), element::f32, 1, any);
    y = input(g, g.name("y", 1), element::f32, 1, any);
    pick = input(g, g.name("pick", 4), element::i64, 1, any);
    cut = input(g, g.name("cut", 3), element::i64, 2, any);
    i = index(g, g.name("i", 1), 0, integer(g, 0), extent(g, y, 0));
    j = index(g, g.name("j", 1), 0, integer(g, 0), integer(g, 3));
  }
  // The gradient of sum(over, y(i) * x(subscript)) for x.
  constexpr flat<char> shown(node_id subscript, const node_id* over, int count) {
    const node_id body = make(g, op::mul, load(g, y, &i, 1), load(g, x, &subscript, 1));
    const node_id loss =
        define(g, g.name("loss", 4), reduce(g, monoid::sum, body, truth(g, true), over, count), nullptr, 0);
    return print(g, gradient(g, loss, x, number(g, element::f32, 1), g.name("dx", 2)));
  }
};

constexpr bool an_index_is_substituted() {
  program p;
  const node_id t = index(p.g, p.g.name("t", 1), 0, integer(p.g, 0), extent(p.g, p.x, 0));
  p.i = t;
  return reads(p.shown(t, &t, 1), "dx(t.in(0, extent(x, 0))) = y(t)");
}
static_assert(an_index_is_substituted());

// What is abandoned is not found again, however often the table grows afterwards; all else is.
constexpr bool abandoned_nodes_are_made_anew() {
  program p;
  const int own = p.g.size();
  const auto sums = [&] {
    node_id e = index(p.g, p.g.name("t", 1), 0, integer(p.g, 0), extent(p.g, p.x, 0));
    for (int k = 2; k < 200; ++k) e = make(p.g, op::mul, p.i, make(p.g, op::add, e, integer(p.g, k)));
    return e;
  };
  const node_id first = sums();
  p.g.abandon_from(own);
  const node_id second = sums();
  return first < second && sums() == second && integer(p.g, 0) < own;
}
static_assert(abandoned_nodes_are_made_anew());

constexpr bool an_affine_subscript_is_solved() {
  program p;
  const node_id e = make(p.g, op::add, make(p.g, op::mul, integer(p.g, 2), p.i), integer(p.g, -1));
  return reads(p.shown(e, &p.i, 1),
               "dx(k) = select(remainder(k + 1, 2) == 0 && k + 1 < extent(y, 0) * 2, y(quotient(k + 1, 2)), 0)");
}
static_assert(an_affine_subscript_is_solved());

constexpr bool a_window_is_gathered() {
  program p;
  const node_id over[2] = {p.i, p.j};
  return reads(p.shown(make(p.g, op::add, p.i, p.j), over, 2),
               "dx(k) = sum(j.in(maximum(0, k - extent(y, 0) + 1), minimum(3, k + 1)), y(k - j))");
}
static_assert(a_window_is_gathered());

// A window of `taps` over y along x: padded by one, its places 2 apart, the taps `dilation` apart and within x.
constexpr bool padded(std::int64_t dilation, std::int64_t taps, const char* expected) {
  program p;
  graph& g = p.g;
  const node_id begin = make(g, op::add, make(g, op::mul, p.i, integer(g, 2)), integer(g, -1));
  const node_id before = make(g, op::neg, begin), up = integer(g, dilation - 1), step = integer(g, dilation);
  const auto upto = [&](node_id e) { return make(g, op::quotient, make(g, op::add, e, up), step); };
  const node_id over[2] = {p.i, index(g, g.name("u", 1), 0, make(g, op::maximum, integer(g, 0), upto(before)),
                                      make(g, op::minimum, integer(g, taps),
                                           upto(make(g, op::add, before, extent(g, p.x, 0)))))};
  return reads(p.shown(make(g, op::add, begin, make(g, op::mul, over[1], step)), over, 2), expected);
}
// Solved for the tap, the place has a range of at most taps / stride.
static_assert(padded(1, 3,
                     "dx(k) = sum(i.in(quotient(k, 2), minimum(extent(y, 0), quotient(k + 1, 2) + 1)), y(i))"));
static_assert(padded(3, 2,
                     "dx(k) = sum(i.in(maximum(0, quotient(k - 3, 2)), minimum(extent(y, 0), quotient(k + 1, 2) + "
                     "1)).where(remainder(k - (i * 2 - 1), 3) == 0), y(i))"));

constexpr bool a_data_range_becomes_an_interval() {
  program p;
  const node_id low[2] = {p.i, integer(p.g, 0)}, high[2] = {p.i, integer(p.g, 1)};
  const node_id t = index(p.g, p.g.name("t", 1), 0, load(p.g, p.cut, low, 2), load(p.g, p.cut, high, 2));
  const node_id over[2] = {p.i, t};
  return reads(p.shown(t, over, 2), "dx(t) = sum(i.in(0, extent(y, 0)).where(cut(i, 0) <= t && t < cut(i, 1)), y(i))");
}
static_assert(a_data_range_becomes_an_interval());

constexpr bool data_stays_a_scatter() {
  program p;
  return reads(p.shown(load(p.g, p.pick, &p.i, 1), &p.i, 1),
               "dx(k) = sum(i.in(0, extent(y, 0)).where(k == pick(i)), y(i))");
}
static_assert(data_stays_a_scatter());
}  // namespace
