// expect: tensor log_softmax_x (an automatic name): subscript 1 is f32, expected an integer
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto x = tensor<"x", float, 2>;
auto program = compile(cross_entropy(x, v));
