// expect: vjp of y: its rank is 1, the cotangent x has rank 2
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = define<"y">(i) = a(i) * a(i);
constexpr auto dy = vjp(y, a, x);
