// How do I reduce with a state of several values: a variance in one pass, a linear recurrence along an axis? The state
// is a tuple; what is not commutative is folded in order. Gradients come with it. (Catalogue: a monoid of tuples)
#include <sheaf/sheaf.hpp>
#include <support/check.hpp>

using namespace sheaf;

constexpr auto t = axis<"t">;
constexpr auto s = axis<"s">;
constexpr auto x = tensor<"x", float, 1>;

// Welford's: how many, their mean, and the sum of the squares of what is left.
constexpr auto welford = own_monoid<"welford">(tuple(0_c, 0_c, 0_c), [](auto a, auto b) {
  auto [n, mean_a, m_a] = a;
  auto [k, mean_b, m_b] = b;
  const auto gap = mean_b - mean_a;
  const auto part = k / maximum(n + k, 1_c);
  return tuple(n + k, mean_a + gap * part, m_a + m_b + gap * gap * n * part);
});
constexpr auto state = fold(welford, t, tuple(1_c, x(t), 0_c));
constexpr auto variance = define<"variance">() = get<2>(state) / get<0>(state);

// The maps h -> a h + b, one after the other: h(t) = h(t - 1) / 2 + x(t).
constexpr auto affine = own_monoid<"affine">(tuple(1_c, 0_c), [](auto first, auto then) {
                          auto [a, b] = first;
                          auto [c, d] = then;
                          return tuple(a * c, c * b + d);
                        }).in_order();
constexpr auto h = define<"h">(t.in(0_c, extent(x, dim<0>))) =
    get<1>(fold(affine, s.in(0_c, t + 1_c), tuple(0.5_c, x(s))));
constexpr auto total = define<"total">() = sum(t, h(t));

int main() {
  const auto values = support::filled(array<float, 1>(4), {1, 2, 3, 6});
  const auto [v, dv, y, dy] = compile(variance, grad(variance, x), h, grad(total, x))(x = values);
  support::show("variance:", v);
  support::show("its gradient:", dv);
  support::show("h:", y);
  support::show("gradient of its sum:", dy);
  support::expect("variance", v, {3.5});
  support::expect("gradient", dv, {-1, -0.5, 0, 1.5});
  support::expect("recurrence", y, {1, 2.5, 4.25, 8.125});
  support::expect("its gradient", dy, {1.875, 1.75, 1.5, 1});
}

/* Output:
variance:
  3.5
its gradient:
  -1 -0.5 0 1.5
h:
  1 2.5 4.25 8.125
gradient of its sum:
  1.875 1.75 1.5 1
*/
