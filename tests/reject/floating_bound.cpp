// expect: domain of i: a bound is f32, expected an integer
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
auto program = compile(sum(i.in(0_c, a(0_c)), a(i)));
