// expect: keep: y is not an input of this program
#include <vector>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto y = define<"y">(i) = a(i);
void run(std::vector<float>& values) { compile(y).keep(y = values); }
