// expect: grad: expected what is differentiated, and by what, as in grad(loss, x)
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto loss = define<"loss">() = sum(over(i, j), x(i, j) * x(i, j));
constexpr auto z = grad(loss);
