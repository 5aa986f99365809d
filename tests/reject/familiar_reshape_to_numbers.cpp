// expect: reshape: expected reshape<3, -1>(x), the extents as template arguments, got reshape(tensor x, a number, a number)
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = reshape(x, 3, 2);
