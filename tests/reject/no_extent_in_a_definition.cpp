// expect: definition y: index j has no extent: no tensor here is subscripted with j alone
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto a = tensor<"a", float, 1>;
auto program = compile(define<"y">(i, j) = a(i));
