// expect: expression: tensor x has rank 2, got no subscripts
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = mean(x * x, dim<1>);
