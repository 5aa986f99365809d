// expect: call: argument x: expected f32 of rank 2, got f32 of rank 1
#include <vector>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
void run(std::vector<float>& values) { compile(define<"y">(i, j) = x(i, j))(x = values); }
