// expect: sum: index t has no extent: no tensor here is subscripted with t alone; give it a domain such as t.in(0_c, n), or declare its size: axis<"t", 8>
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto t = axis<"t">;
constexpr auto a = tensor<"a", float, 1>;
auto program = compile(sum(over(i, t), a(i)));
