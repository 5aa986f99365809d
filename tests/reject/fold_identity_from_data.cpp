// expect: fold from: its identity is not a number
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto rate = scalar<"rate", float>;
constexpr auto from = own_monoid<"from">(tuple(rate(), 0_c), [](auto a, auto b) {
  return tuple(get<0>(a) + get<0>(b), get<1>(a) + get<1>(b));
});
auto program = compile(get<0>(fold(from, i, tuple(x(i), x(i)))));
