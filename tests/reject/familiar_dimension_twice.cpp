// expect: sum of x: a dimension is named twice
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = sum(x, dim<1>, dim<-1>);
