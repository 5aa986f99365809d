// How do I give a definition a gradient of my own, stop a gradient, or pass one straight through a rounding?
// custom_gradient says what the cotangent becomes; stop_gradient takes its argument as a constant. (Catalogue: A9)
#include <sheaf/sheaf.hpp>
#include <support/check.hpp>

using namespace sheaf;

constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;

// The gradient of a square, held within 1.
constexpr auto square = define<"square">(i) = x(i) * x(i);
constexpr auto gentle =
    custom_gradient(square, [](auto, auto dy) { return by(x)(i) = dy(i) * minimum(maximum(2_c * x(i), -1_c), 1_c); });
constexpr auto gentle_loss = define<"gentle_loss">() = sum(i, gentle(i));

// Straight through: the value is rounded, the gradient is that of the identity.
constexpr auto rounded = define<"rounded">(i) = x(i) + stop_gradient(round(x(i)) - x(i));
constexpr auto rounded_loss = define<"rounded_loss">() = sum(i, rounded(i));

// A stopped factor is a constant: d(x stop(x))/dx = x, not 2 x.
constexpr auto stopped = define<"stopped">() = sum(i, x(i) * stop_gradient(x(i)));

int main() {
  const auto values = support::filled(array<float, 1>(4), {-2, -0.25, 0.25, 1.75});
  const auto [y, dy, r, dr, ds] =
      compile(gentle, grad(gentle_loss, x), rounded, grad(rounded_loss, x), grad(stopped, x))(x = values);
  support::show("x^2:", y);
  support::show("its gradient, held within 1:", dy);
  support::show("round(x):", r);
  support::show("its gradient, straight through:", dr);
  support::show("gradient of x stop_gradient(x):", ds);
  support::expect("values", y, {4, 0.0625, 0.0625, 3.0625});
  support::expect("custom gradient", dy, {-1, -0.5, 0.5, 1});
  support::expect("rounded", r, {-2, 0, 0, 2});
  support::expect("straight through", dr, {1, 1, 1, 1});
  support::expect("stopped", ds, {-2, -0.25, 0.25, 1.75});
}

/* Output:
x^2:
  4 0.0625 0.0625 3.0625
its gradient, held within 1:
  -1 -0.5 0.5 1
round(x):
  -2 0 0 2
its gradient, straight through:
  1 1 1 1
gradient of x stop_gradient(x):
  -2 -0.25 0.25 1.75
*/
