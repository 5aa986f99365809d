// expect: gradient of fold longest: its monoid has no adjoint; add .adjoint([](auto element, auto result) { return d result / d element; })
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto longest = own_monoid<"longest">(0_c, [](auto a, auto b) { return maximum(abs(a), abs(b)); });
auto program = compile(grad(fold(longest, i, x(i)), x));
