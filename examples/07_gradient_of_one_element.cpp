// How do I differentiate an expression that uses one element of a tensor beside all of it? And along one path only?
// A gradient has the shape of the whole tensor: the element's path adds to that of the sum. Each path by itself is the
// gradient with the other stopped. (Catalogue: A7)
#include <sheaf/sheaf.hpp>
#include <support/check.hpp>

using namespace sheaf;

constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto w = tensor<"w", float, 1>;

constexpr auto twice = define<"twice">() = 2_c * x(2_c) + sum(i, x(i));
constexpr auto thrice = define<"thrice">() = 3_c * x(2_c) + sum(i, x(i));
constexpr auto product = define<"product">() = sum(i, x(i) * w(i));
constexpr auto only_2 = define<"only_2">() = x(2_c) * w(2_c) + stop_gradient(sum(i.where(i != 2_c), x(i) * w(i)));

int main() {
  const auto values = support::counting(array<float, 1>(5));
  const auto weights = support::filled(array<float, 1>(5), {0.5, -1, 3, 2, 0.25});
  const auto [a, b, c, d, p, q] = compile(grad(twice, x), grad(thrice, x), grad(product, x), grad(only_2, x), product,
                                          only_2)(x = values, w = weights);
  support::show("d(2 x[2] + sum x)/dx:", a);
  support::show("d(3 x[2] + sum x)/dx:", b);
  support::show("d(sum x w)/dx:", c);
  support::show("the same through x[2] w[2] alone:", d);
  support::expect("3 at 2, 1 elsewhere", a, {1, 1, 3, 1, 1});
  support::expect("4 at 2, 1 elsewhere", b, {1, 1, 4, 1, 1});
  support::expect("w", c, {0.5, -1, 3, 2, 0.25});
  support::expect("one path", d, {0, 0, 3, 0, 0});
  support::expect("the value is the same", p() == q());
}

/* Output:
d(2 x[2] + sum x)/dx:
  1 1 3 1 1
d(3 x[2] + sum x)/dx:
  1 1 4 1 1
d(sum x w)/dx:
  0.5 -1 3 2 0.25
the same through x[2] w[2] alone:
  0 0 3 0 0
*/
