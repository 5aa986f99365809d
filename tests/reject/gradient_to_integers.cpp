// expect: gradient of y with respect to n: tensor n is i64; gradients exist for floating tensors only
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto n = tensor<"n", std::int64_t, 1>;
constexpr auto y = define<"y">() = sum(i, cast<float>(n(i)));
auto program = compile(grad(y, n));
