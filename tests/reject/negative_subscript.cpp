// expect: tensor a: subscript 0 is -1, expected 0 to its extent - 1
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto a = tensor<"a", float, 1>;
auto program = compile(define<"y">() = a(-1_c));
