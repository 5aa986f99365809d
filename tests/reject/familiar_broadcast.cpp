// expect: elementwise: extents 4 of x in dimension 1 and 3 of w in dimension 0 do not broadcast
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2, 5, 4>;
constexpr auto w = tensor<"w", float, 1, 3>;
constexpr auto y = elementwise([](auto a, auto b) { return a * b; }, x, w);
