// expect: stack: expected the dimension first, as in stack(dim<0>, a, b)
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = stack(x, x);
