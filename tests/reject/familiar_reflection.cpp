// expect: pad of x: reflecting 3 in dimension 0 needs an extent above it, got 3
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 1, 3>;
constexpr auto y = pad<3, 0, padding::reflect>(x, dim<0>);
