// expect: slice of x: its rank is 1, got 2 parts
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto y = slice(x, whole, whole);
