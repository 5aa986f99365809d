// expect: fold welford: an element has 2 values, expected 3 as its identity
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto welford = own_monoid<"welford">(tuple(0_c, 0_c, 0_c), [](auto a, auto b) {
  return tuple(get<0>(a) + get<0>(b), get<1>(a) + get<1>(b), get<2>(a) + get<2>(b));
});
auto program = compile(get<0>(fold(welford, i, tuple(1_c, x(i)))));
