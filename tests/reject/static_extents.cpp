// expect: sum: index i has extent 3 in dimension 0 of u but 4 in dimension 0 of v
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto u = tensor<"u", float, 1, 3>;
constexpr auto v = tensor<"v", float, 1, 4>;
auto program = compile(sum(i, u(i) * v(i)));
