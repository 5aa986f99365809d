// expect: assignment to tensor x: expressions are not assigned to; write define<"name">(indices...) = expression
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto x = tensor<"x", float, 2>;
void copy() { x = a(i); }
