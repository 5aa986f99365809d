// expect: where: the domain has a condition already; join them with &&
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto y = sum(i.where(a(i) > 0_c).where(a(i) < 1_c), a(i));
