// expect: call: arguments are named, as in step(x = rows)
#include <vector>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
void run(std::vector<float>& values) { compile(define<"y">(i) = a(i))(values); }
