// expect: get<2>: the tuple has 2 values
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto both = tuple(x(i), x(i));
constexpr auto third = get<2>(both);
