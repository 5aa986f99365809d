// expect: adaptive_avg_pool of x, dimension 1: expected an extent of at least 1, got 0
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2, 3, 0>;
auto program = compile(adaptive_avg_pool<2>(x));
