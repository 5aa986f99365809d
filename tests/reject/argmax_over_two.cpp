// expect: argmax: the extent of index j depends on another index, so that places have no order; expected one index
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
auto program = compile(argmax(over(i, j.in(0_c, i)), x(i, j)));
