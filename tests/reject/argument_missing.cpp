// expect: call: argument n (i64, rank 1) is missing
#include <vector>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto n = tensor<"n", std::int64_t, 1>;
constexpr auto a = tensor<"a", float, 1>;
void run(std::vector<float>& values) { compile(define<"y">(i) = a(i) * cast<float>(n(i)))(a = values); }
