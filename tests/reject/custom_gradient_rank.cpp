// expect: custom gradient by x: its rank is 1, got 2 indices
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto y = define<"y">(i) = round(x(i));
auto program =
    compile(grad(sum(i, custom_gradient(y, [](auto, auto dy) { return by(x)(i, axis<"j", 2>) = dy(i); })(i)), x));
