// expect: layer_norm: expected layer_norm(x), layer_norm(x, w) or layer_norm(x, w, b), over as many last dimensions as w has, got layer_norm(tensor x, dim<1>)
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = layer_norm(x, dim<1>);
