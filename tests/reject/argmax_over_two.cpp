// expect: argmax: expected one index, got 2
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
auto program = compile(argmax(over(i, j), x(i, j)));
