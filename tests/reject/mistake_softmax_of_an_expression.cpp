// expect: softmax: expected softmax(x, dim<1>), got softmax(an expression, dim<1>); a tensor stands there without subscripts, an expression is defined first: define<"name">(i) = ...
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = softmax(x(i, j), dim<1>);
