// expect: call: argument a: expected f32 of rank 1, got f64 of rank 1
#include <vector>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
void run(std::vector<double>& values) { compile(define<"y">(i) = a(i))(a = values); }
