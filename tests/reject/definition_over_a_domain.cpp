// expect: define: its indices are axes, or axes with a size such as t.in(0_c, n); other domains stand in a reduction
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
auto program = compile(define<"y">(i.in(1_c, 3_c)) = a(i));
