// expect: call: y is neither an input nor an output of this program, whose tensor of this name is another
#include <sheaf/sheaf.hpp>

using namespace sheaf;

constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto y = define<"y">(i) = x(i) + 1_c;
constexpr auto another = define<"y">(i) = x(i) + 2_c;

void run(view<float, 1> a, view<float, 1> b) { compile(y)(x = a, another = b); }
