// expect: tensor a: declared twice, as f32 of rank 1 and as f64 of rank 1
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
auto program = compile(sum(i, a(i) * tensor<"a", double, 1>(i)));
