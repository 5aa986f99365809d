// expect: mean of x: dimension 2 is out of range, expected -2 to 1
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = mean(x, dim<2>);
