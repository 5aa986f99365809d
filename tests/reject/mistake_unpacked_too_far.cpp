// expect: decompose
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto loss = define<"loss">() = sum(over(i, j), x(i, j) * x(i, j));
void f(float* p) { auto [a, b] = compile(loss)(x = view_of(p, 2, 2)); }
