// expect: matmul: extents 2 of a in dimension 0 and 3 of b in dimension 0 do not broadcast
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto a = tensor<"a", float, 3, 2, 5, 4>;
constexpr auto b = tensor<"b", float, 3, 3, 4, 6>;
constexpr auto y = matmul(a, b);
