// flavour: ok
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 4, 1, 3, 8, 6>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;
auto program =
    compile(avg_pool2d<pool{.kernel = {2, 6}}>(x), mean(x, dim<-4>, dim<3>), slice(x, whole, at<2>, range<5, 2, -1>));
