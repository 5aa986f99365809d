// expect: layer_norm of x: it is over as many last dimensions as its weight has, and takes no dim
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = layer_norm(x, dim<1>);
