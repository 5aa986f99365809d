// The same as in updates_of_text.sheaf, of C++.
#include <sheaf/kernels.hpp>

namespace {
using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto loss = define<"loss">() = sum(i, w(i) * w(i));
constexpr auto w_next = define<"w_next">(i) = w(i) - 0.5_c * grad(loss, w)(i);
}  // namespace

SHEAF_KERNEL(trained, w_next, loss, updates(w_next, w), adding(loss))
