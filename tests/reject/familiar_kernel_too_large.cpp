// expect: avg_pool2d of x: the kernel spans 7 in dimension 3, the padded input has 6
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 4, 1, 3, 8, 6>;
auto program = compile(avg_pool2d<pool{.kernel = {2, 7}}>(x));
