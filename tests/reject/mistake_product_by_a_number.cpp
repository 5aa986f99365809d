// expect: matmul: expected matmul(a, b), got matmul(tensor x, an expression); a tensor stands there without subscripts, an expression is defined first: define<"name">(i) = ...
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = matmul(x, 2_c);
