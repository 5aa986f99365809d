// expect: concat: expected concat(dim<0>, a, b), the dimension first, got concat(tensor x, tensor x)
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = concat(x, x);
