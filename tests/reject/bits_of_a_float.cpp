// expect: bit_and: a value is f32, expected integers or booleans
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
auto program = compile(define<"y">(i) = x(i) & 1_c);
