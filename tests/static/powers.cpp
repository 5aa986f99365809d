// Which terms are exponentials relative to a maximum: what the surface writes and what may be written by hand.
#include <sheaf/sheaf.hpp>

namespace {
using namespace sheaf;

constexpr auto i = axis<"i">;
constexpr auto t = axis<"t">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto top = max(t, x(i, t));

// Of the sum in y(i): is it one of powers, and is the maximum found that they are relative to?
constexpr bool has_centre(graph g) {
  for (node_id n = 0; n < g.size(); ++n) {
    if (g.kind(n) != op::reduce || monoid_of(g, n) != monoid::sum) continue;
    const power term = power_of(g, g.arg(n, 0));
    if (term.value == no_node) return false;
    const node_id found = maximum_of_centre(g, term.centre, [](node_id a, node_id b) { return a == b; });
    return g.kind(found) == op::reduce && monoid_of(g, found) == monoid::max;
  }
  return false;
}
template <class Body>
constexpr bool has_centre(Body) {
  return has_centre(detail::build_graph<decltype(define<"y">(i) = Body{})>());
}

static_assert(has_centre(logsumexp(t, x(i, t))));
static_assert(has_centre(sum(t, exp(x(i, t) - top))));
static_assert(has_centre(sum(t, exp(x(i, t) - stop_gradient(where(isfinite(top), top, 0_c))))));
static_assert(!has_centre(sum(t, exp(x(i, t) - where(top < 0_c, top, 0_c)))));
static_assert(!has_centre(sum(t, x(i, t) - top)));

}  // namespace
