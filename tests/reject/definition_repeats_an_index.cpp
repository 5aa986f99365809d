// expect: definition y: index i stands twice among its indices
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = define<"y">(i, i) = x(i, i);
