// expect: mean: a dimension is one of a tensor without subscripts, as in mean(x, dim<1>); of an expression, mean(t, x(t) * x(t))
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = mean(x(i, j), dim<1>);
