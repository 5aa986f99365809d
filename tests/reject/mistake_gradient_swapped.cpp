// expect: grad of x: it has rank 2, expected a scalar; vjp takes a cotangent
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto loss = define<"loss">() = sum(over(i, j), x(i, j) * x(i, j));
constexpr auto z = grad(x, loss);
