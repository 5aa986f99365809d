// expect: call: argument a (f32, rank 1) is given twice
#include <vector>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
void run(std::vector<float>& values) { compile(define<"y">(i) = a(i))(a = values, a = values); }
