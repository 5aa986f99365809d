// expect: definition a: an input has this name
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
auto program = compile(define<"a">(i) = a(i) * 2_c);
