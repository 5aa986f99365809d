// expect: call: n is neither an input nor an output of this program
#include <vector>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto n = define<"n">(i) = a(i) + 1_c;
void run(std::vector<float>& values, std::vector<float>& ids) {
  compile(define<"y">(i) = a(i))(a = values, n = ids);
}
