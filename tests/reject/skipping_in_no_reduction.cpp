// expect: tensor x: skipping stands in no reduction over one of its indices
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto n = tensor<"n", std::int64_t, 1>;
auto program = compile(define<"y">(i) = x.skipping(i + 1_c) + x(i));
