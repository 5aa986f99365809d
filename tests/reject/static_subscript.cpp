// expect: tensor u: subscript 0 is 3, expected 0 to 2
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto u = tensor<"u", float, 1, 3>;
auto program = compile(define<"y">() = u(3_c));
