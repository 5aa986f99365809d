// Equalities of a number with its digits, as the printed gradient of what reads at that number.
#include <sheaf/dsl/graph/print.hpp>
#include <sheaf/dsl/passes/differentiate.hpp>

#include "support/reads.hpp"

namespace {
using namespace sheaf;

struct program {
  graph g;
  node_id x, m, c, p, q;
  constexpr program() {
    const std::int64_t any[2] = {dynamic, dynamic};
    x = input(g, g.name("x", 1), element::f32, 1, any);
    m = input(g, g.name("m", 1), element::f32, 2, any);
    c = index(g, g.name("c", 1), 0, integer(g, 0), extent(g, m, 0));
    p = index(g, g.name("p", 1), 0, integer(g, 0), integer(g, 3));
    q = index(g, g.name("q", 1), 0, integer(g, 0), integer(g, 3));
  }
  constexpr node_id times(node_id e, std::int64_t by) { return make(g, op::mul, e, integer(g, by)); }
  constexpr node_id plus(node_id a, node_id b) { return make(g, op::add, a, b); }
  // The gradient of sum(over, term * x(subscript)) for x.
  constexpr flat<char> shown(node_id term, node_id subscript, std::initializer_list<node_id> over) {
    const node_id body = make(g, op::mul, term, load(g, x, &subscript, 1));
    const node_id sum = reduce(g, monoid::sum, body, truth(g, true), over.begin(), static_cast<int>(over.size()));
    const node_id loss = define(g, g.name("loss", 4), sum, nullptr, 0);
    return print(g, gradient(g, loss, x, number(g, element::f32, 1), g.name("dx", 2)));
  }
};

constexpr bool three_digits() {
  program t;
  const node_id at = t.plus(t.plus(t.times(t.c, 9), t.times(t.p, 3)), t.q), subscripts[2] = {t.c, t.q};
  return reads(t.shown(load(t.g, t.m, subscripts, 2), at, {t.c, t.p, t.q}),
               "dx(i) = select(quotient(i, 9) < extent(m, 0), m(quotient(i, 9), remainder(i, 3)), 0)");
}
static_assert(three_digits());

constexpr bool a_digit_below_an_extent() {
  program t;
  const node_id columns = extent(t.g, t.m, 1), j = index(t.g, t.g.name("j", 1), 0, integer(t.g, 0), columns);
  const node_id at = t.plus(make(t.g, op::mul, t.c, columns), j), subscripts[2] = {t.c, j};
  return reads(t.shown(load(t.g, t.m, subscripts, 2), at, {t.c, j}),
               "dx(i) = select(quotient(i, extent(m, 1)) < extent(m, 0) && 0 < extent(m, 1), "
               "m(quotient(i, extent(m, 1)), remainder(i, extent(m, 1))), 0)");
}
static_assert(a_digit_below_an_extent());

// Few places in steps of few: a window, whose sums have phases.
constexpr bool a_phase_is_no_digit() {
  program t;
  const node_id at = t.plus(t.times(t.c, 3), t.q), subscripts[2] = {t.c, t.q};
  return reads(t.shown(load(t.g, t.m, subscripts, 2), at, {t.c, t.q}),
               "dx(i) = sum(c.in(quotient(i, 3), minimum(extent(m, 0), quotient(i, 3) + 1)), m(c, i - c * 3))");
}
static_assert(a_phase_is_no_digit());

}  // namespace
