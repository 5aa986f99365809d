// expect: tuple: expected 2 to 16 values, got 1
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto one = tuple(x(i));
