// expect: sum over i: expected at least one element, there is none
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1, 0>;
auto program = compile(define<"y">() = sum<empty::error>(i, x(i)));
