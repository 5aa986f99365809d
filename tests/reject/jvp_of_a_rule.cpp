// expect: jvp of y (an automatic name): definition y has a custom gradient, which says its vjp only
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto y = define<"y">(i) = round(x(i));
constexpr auto ruled = custom_gradient(y, [](auto, auto dy) { return by(x)(i) = dy(i); });
auto program = compile(jvp(sum(i, ruled(i)), x));
