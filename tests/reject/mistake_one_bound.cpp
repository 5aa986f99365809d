// expect: axis i: a range has two bounds, as in i.in(0_c, n)
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto z = define<"z">() = sum(i.in(3_c), v(i));
