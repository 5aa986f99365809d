// expect: max_pool2d of x: the kernel is 0 in dimension 3, expected at least 1
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 4>;
constexpr auto y = max_pool2d<pool{.kernel = {2}}>(x);
