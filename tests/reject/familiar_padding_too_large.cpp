// expect: max_pool1d of x: the padding is 2 in dimension 2, expected at most half the kernel of 3
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 3>;
constexpr auto y = max_pool1d<pool{.kernel = {3}, .padding = {2}}>(x);
