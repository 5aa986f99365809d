// expect: call: argument softmax_x (an automatic name): expected f32 of rank 2, got f32 of rank 1 (an output needs a mutable view)
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto x = tensor<"x", float, 2>;
void run(view<const float, 2> rows, view<float, 1> line) {
  compile(softmax(x, dim<1>))(x = rows, softmax(x, dim<1>) = line);
}
