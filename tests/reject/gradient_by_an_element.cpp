// expect: gradient: what to differentiate by is a tensor, a scalar or a definition, without subscripts
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto y = define<"y">() = sum(i, a(i));
constexpr auto dy = grad(y, a(0_c));
