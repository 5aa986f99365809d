// expect: subscript: tensor x has rank 2, got 3 subscripts
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto t = axis<"t">;
constexpr auto x = tensor<"x", float, 2>;
auto program = compile(define<"y">(j) = mean(t, x(t, j, j)));
