// expect: compile: a large program needs the flag -fconstexpr-
// flags of g++: -fconstexpr-ops-limit=100000
// flags of clang: -fconstexpr-steps=20000
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto soft = softmax(layer_norm(softmax(x, dim<1>)), dim<1>);
auto step() { return compile(soft, vjp(soft, x)); }
