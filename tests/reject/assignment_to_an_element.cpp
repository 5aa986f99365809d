// expect: assignment to an element of x: expressions are not assigned to; write define<"name">(indices...) = expression
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
void scale() { x(i, j) = 2_c * x(i, j); }
