// expect: call: argument a: only outputs of numbers are added to what is there, got an input
#include <vector>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto y = define<"y">(i) = a(i);
void run(std::vector<float>& values) { compile(y)(a += values); }
