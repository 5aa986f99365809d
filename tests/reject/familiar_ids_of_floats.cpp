// expect: segment_sum: the ids v are f32, expected integers
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = segment_sum<4>(x, v);
