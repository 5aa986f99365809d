// expect: reshape of x: its extents are template arguments, as in reshape<3, -1>(x)
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = reshape(x, 3, 2);
