// expect: concat: expected the dimension first, as in concat(dim<0>, a, b)
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = concat(x, x);
