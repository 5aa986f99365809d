// expect: slice of x: range 5 to 2 in dimension 0 has negative length -3
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = slice(x, range<5, 2>);
