// expect: compile: output y is asked for twice
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto y = define<"y">(i) = x(i) * 2_c;
auto program = compile(y, y);
