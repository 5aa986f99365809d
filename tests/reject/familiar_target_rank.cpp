// expect: cross_entropy: logits has rank 2, so the class ids have 1; target has rank 2
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto logits = tensor<"logits", float, 2>;
constexpr auto target = tensor<"target", std::int64_t, 2>;
constexpr auto y = cross_entropy(logits, target);
