// expect: cross_entropy: target has the rank of logits, so it holds class probabilities; it is i64, expected a floating type
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto logits = tensor<"logits", float, 2>;
constexpr auto target = tensor<"target", std::int64_t, 2>;
auto program = compile(cross_entropy(logits, target));
