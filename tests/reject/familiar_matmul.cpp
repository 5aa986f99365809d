// expect: matmul: dimension 1 of a has extent 3, dimension 0 of b has 4
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto a = tensor<"a", float, 2, 2, 3>;
constexpr auto b = tensor<"b", float, 2, 4, 5>;
constexpr auto y = matmul(a, b);
