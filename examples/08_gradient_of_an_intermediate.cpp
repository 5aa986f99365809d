// How do I get the gradient with respect to something in the middle of a computation, or one element of it?
// A definition is a tensor: differentiate by it as by an input. (Catalogue: A8)
#include <sheaf/sheaf.hpp>
#include <support/check.hpp>

using namespace sheaf;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;

constexpr auto hidden = define<"hidden">(i) = sum(j, x(i, j));
constexpr auto loss = define<"loss">() = sum(i, hidden(i) * hidden(i)) + 10_c * hidden(1_c);
constexpr auto at_1 = define<"at_1">() = grad(loss, hidden)(1_c);

int main() {
  const auto values = support::counting(array<float, 2>(3, 2));
  const auto [h, dh, one, dx] = compile(hidden, grad(loss, hidden), at_1, grad(loss, x))(x = values);
  support::show("hidden:", h);
  support::show("dloss/dhidden = 2 hidden, and 10 more at 1:", dh);
  support::show("its element 1:", one);
  support::show("dloss/dx:", dx);
  support::expect("hidden", h, {1, 5, 9});
  support::expect("gradient of the intermediate", dh, {2, 20, 18});
  support::expect("one element", one() == 20);
  support::expect("and on to the input", dx, {2, 2, 20, 20, 18, 18});
}

/* Output:
hidden:
  1 5 9
dloss/dhidden = 2 hidden, and 10 more at 1:
  2 20 18
its element 1:
  20
dloss/dx:
  2 2
  20 20
  18 18
*/
