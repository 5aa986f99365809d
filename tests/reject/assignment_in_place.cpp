// expect: assignment to an element of a: expressions are not assigned to; write define<"name">(indices...) = expression
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
void scale() { a(i) *= 2_c; }
