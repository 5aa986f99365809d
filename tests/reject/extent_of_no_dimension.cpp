// expect: extent: the dimension is not one of the tensor's
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = extent(x, dim<2>);
