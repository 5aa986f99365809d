// expect: call: argument y: expected f32 of rank 1, got f32 of rank 1 (an output needs a mutable view)
#include <vector>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto y = define<"y">(i) = sum(j, x(i, j));
void f(const std::vector<float>& rows) { compile(y)(y = rows); }
