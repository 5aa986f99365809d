// expect: reshape of x: expected a multiple of 5 elements, got 12
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2, 3, 4>;
auto program = compile(reshape<5, -1>(x));
