// expect: fold pair: its combination has 1 value, expected 2 as its identity
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto pair = own_monoid<"pair">(tuple(0_c, 0_c), [](auto a, auto b) { return get<0>(a) + get<0>(b); });
auto program = compile(get<0>(fold(pair, i, tuple(x(i), x(i)))));
