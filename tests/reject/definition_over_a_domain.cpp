// expect: define: its indices are axes; a domain stands in a reduction
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
auto program = compile(define<"y">(i.in(0_c, 3_c)) = a(i));
