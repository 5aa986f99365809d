// expect: call: argument y: expected f32 of rank 1, got f32 of rank 1 (an output needs a mutable view)
#include <vector>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto y = define<"y">(i) = a(i);
void run(std::vector<float>& values, const std::vector<float>& result) { compile(y)(a = values, y = result); }
