// expect: concat: expected tensors of one rank, got 2, 1
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto v = tensor<"v", float, 1>;
auto program = compile(concat(dim<0>, x, v));
