// expect: tensor a: subscript 0 is f32, expected an integer
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
auto program = compile(define<"y">(i) = a(a(i)));
