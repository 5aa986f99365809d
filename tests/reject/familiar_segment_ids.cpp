// expect: segment_sum: the segment ids ids have rank 2, expected 1
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto ids = tensor<"ids", std::int64_t, 2>;
constexpr auto y = segment_sum<4>(x, ids);
