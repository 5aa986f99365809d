// expect: sum: index k has extent 5 by declaration but 3 in dimension 0 of u
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto k = axis<"k", 5>;
constexpr auto u = tensor<"u", float, 1, 3>;
auto program = compile(sum(k, u(k)));
