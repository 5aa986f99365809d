// expect: definition y: index t is free in its expression and not among its indices (j)
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto j = axis<"j">;
constexpr auto t = axis<"t">;
constexpr auto x = tensor<"x", float, 2>;
auto program = compile(define<"y">(j) = x(t, j) * 2_c);
