// expect: relu: expected 1 value, got 2
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = relu(x, dim<1>);
