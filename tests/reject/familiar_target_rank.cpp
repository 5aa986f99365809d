// expect: cross_entropy: logits has rank 2, so the class ids have 1, class probabilities 2; target has rank 3
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto logits = tensor<"logits", float, 2>;
constexpr auto target = tensor<"target", std::int64_t, 3>;
constexpr auto y = cross_entropy(logits, target);
