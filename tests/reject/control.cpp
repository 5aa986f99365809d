// flavour: ok
#include <vector>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto y = define<"y">(i) = 2_c * a(i);
void run(std::vector<float>& values) { compile(y, grad(sum(i, y(i)), a))(a = values); }
