// expect: group_norm of x: 6 channels do not divide into 4 groups
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 3, dynamic, 6, dynamic>;
constexpr auto y = group_norm<4>(x);
