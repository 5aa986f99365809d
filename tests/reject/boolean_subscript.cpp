// expect: tensor a: subscript 0 is bool, expected an integer
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto n = tensor<"n", std::int64_t, 1>;
auto program = compile(define<"y">(i) = a(n(i) > 0_c));
