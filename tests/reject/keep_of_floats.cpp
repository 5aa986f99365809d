// expect: keep: a is of f32; only indices and masks can be kept
#include <vector>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
void run(std::vector<float>& values) { compile(define<"y">(i) = a(i)).keep(a = values); }
