// expect: extent of v: a dimension is dim<1>, not a number
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto z = define<"z">() = sum(i.in(0_c, v.extent(0)), v(i));
