// expect: fold affine: an element has 1 value, expected 2 as its identity
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto affine = own_monoid<"affine">(tuple(1_c, 0_c), [](auto a, auto b) {
  return tuple(get<0>(a) * get<0>(b), get<0>(b) * get<1>(a) + get<1>(b));
});
auto program = compile(fold(affine, i, x(i)));
