// expect: subscript: tensor x has rank 1, got 2 subscripts
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto n = tensor<"n", std::int64_t, 1>;
auto program = compile(define<"y">(i) = x.clamped(i, i) + x(i));
