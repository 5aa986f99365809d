// expect: domain of i: the step is 0
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
auto program = compile(sum(i.in(0_c, 3_c, 0_c), a(i)));
