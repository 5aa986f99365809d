// expect: custom_gradient: a rule returns by(x)(indices...) = expression
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto y = define<"y">(i) = round(x(i));
auto program = compile(custom_gradient(y, [](auto, auto dy) { return dy(i); }));
