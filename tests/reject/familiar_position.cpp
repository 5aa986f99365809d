// expect: slice of x: position 9 in dimension 1 is out of range, its extent is 4
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2, 3, 4>;
constexpr auto y = slice(x, whole, at<9>);
