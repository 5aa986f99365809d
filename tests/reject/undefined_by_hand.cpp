// expect of g++: sheaf: with -fsanitize=undefined, g++ needs the flag -fno-sanitize=null
// flags: -fsanitize=undefined
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto y = define<"y">() = sum(i, x(i));
auto step() { return compile(y, grad(y, x)); }
