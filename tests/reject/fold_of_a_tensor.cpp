// expect: fold scaled: its expressions take their two arguments and numbers, nothing else
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto rate = scalar<"rate", float>;
constexpr auto scaled = own_monoid<"scaled">(0_c, [](auto a, auto b) { return a + rate() * b; });
auto program = compile(fold(scaled, i, x(i)));
