// expect: output: index j is free; name the output and order its indices: define<"name">(j, ...) = expression
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
auto program = compile(sum(i, x(i, j)));
