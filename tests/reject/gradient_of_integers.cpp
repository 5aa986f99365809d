// expect: gradient of y: it is i64, expected a floating type
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto n = tensor<"n", std::int64_t, 1>;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto y = define<"y">() = sum(i, n(i));
auto program = compile(grad(y, a));
