// expect: jvp by x: its rank is 1, the direction m has rank 2
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto y = define<"y">(i) = round(x(i));
auto program = compile(jvp(y, x, tensor<"m", float, 2>));
