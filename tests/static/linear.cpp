// What ranges say of integer expressions: taps of windows are inside whatever their place, and nothing more is claimed.
#include <sheaf/dsl/graph/affine.hpp>

namespace {
using namespace sheaf;

// A window of three taps over n, padded by one, `stride` apart and `dilation` between its taps, as pooling writes it.
struct window {
  graph g;
  node_id n, begin, end, o, u, at;
  constexpr window(std::int64_t stride, std::int64_t dilation, std::int64_t more = 0) {
    const std::int64_t any[1] = {dynamic};
    n = extent(g, input(g, g.name("x", 1), element::f32, 1, any), 0);
    const node_id count = make(g, op::quotient, make(g, op::add, n, integer(g, 1 - 2 * dilation)), integer(g, stride));
    o = index(g, g.name("o", 1), 0, integer(g, 0),
              make(g, op::maximum, integer(g, 0), make(g, op::add, count, integer(g, 1 + more))));
    begin = make(g, op::add, make(g, op::mul, o, integer(g, stride)), integer(g, -1));
    const node_id before = make(g, op::neg, begin), up = integer(g, dilation - 1), step = integer(g, dilation);
    const auto taps_upto = [&](node_id e) { return make(g, op::quotient, make(g, op::add, e, up), step); };
    u = index(g, g.name("u", 1), 0, make(g, op::maximum, integer(g, 0), taps_upto(before)),
              make(g, op::minimum, integer(g, 3), taps_upto(make(g, op::add, before, n))));
    at = make(g, op::add, begin, make(g, op::mul, u, step));
    end = make(g, op::add, begin, integer(g, 2 * dilation));
  }
  constexpr bool inside() { return is_true(g, range_condition(g, at, integer(g, 0), n)); }
};
static_assert(window(1, 1).inside() && window(2, 1).inside() && window(3, 2).inside() && window(2, 3).inside());

// Without its range a tap may be outside, and by how much follows from how many windows there are.
static_assert(!proven_less_equal(window(2, 1).g, window(2, 1).n, window(2, 1).at));
constexpr bool last_window_ends_in_the_padding(std::int64_t more) {
  window w(2, 1, more);
  return known_less_equal(w.g, w.end, w.n);
}
static_assert(last_window_ends_in_the_padding(0) && !last_window_ends_in_the_padding(1));

constexpr bool quotients_and_remainders() {
  window w(2, 1);
  graph& g = w.g;
  const node_id half = make(g, op::quotient, w.o, integer(g, 2)), twice = make(g, op::mul, half, integer(g, 2));
  const node_id rest = make(g, op::remainder, w.o, integer(g, 2));
  const node_id o1 = make(g, op::add, w.o, integer(g, -1));
  return known_less_equal(g, twice, w.o) && known_less_equal(g, o1, twice) && !known_less_equal(g, w.o, twice) &&
         known_less_equal(g, rest, integer(g, 1)) && known_less_equal(g, integer(g, 0), rest) &&
         !known_less_equal(g, rest, integer(g, 0));
}
static_assert(quotients_and_remainders());

// Data has no bounds, and a sum that cancels needs none.
constexpr bool data() {
  graph g;
  const std::int64_t any[1] = {dynamic};
  const node_id cut = input(g, g.name("cut", 3), element::i64, 1, any);
  const node_id zero = integer(g, 0), one = integer(g, 1);
  const node_id a = load(g, cut, &zero, 1), b = load(g, cut, &one, 1);
  const node_id t = index(g, g.name("t", 1), 0, a, b), up = make(g, op::sub, make(g, op::add, a, t), t);
  return !known_less_equal(g, zero, a) && !known_less_equal(g, a, b) && known_less_equal(g, a, t) &&
         known_less_equal(g, a, up) && !known_less_equal(g, zero, t);
}
static_assert(data());
}  // namespace
