// expect: segment_sum: expected segment_sum(x, offsets(off)), segment_sum(x, bounds(cut)) or segment_sum<8>(x, ids), got segment_sum(tensor x, tensor v)
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = segment_sum(x, v);
