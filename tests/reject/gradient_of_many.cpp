// expect: grad of y: it has rank 1, expected a scalar; vjp takes a cotangent
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto y = define<"y">(i) = a(i) * a(i);
constexpr auto dy = grad(y, a);
