// expect: sum: a dimension is dim<1>, not a number
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = sum(x, 1);
