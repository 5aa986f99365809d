// expect: definition y: two different definitions have this name
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto y = define<"y">(i) = a(i);
constexpr auto z = define<"y">(i) = a(i) * y(i);
auto program = compile(z);
