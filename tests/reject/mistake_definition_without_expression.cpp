// expect: compile: definition z has no expression; write define<"z">(indices...) = expression
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto z = define<"z">(i);
auto f() { return compile(z); }
