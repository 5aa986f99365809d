// expect: stack: expected stack(dim<0>, a, b), the dimension first, got stack(tensor x, tensor x)
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = stack(x, x);
