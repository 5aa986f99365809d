// Exponentials under a logsumexp of the same terms: exp(a - logsumexp(b)) is exp(a - top) over the sum of exp(b -
// top), of which the exponentials are needed anyway. Shown by tests/jit/ragged.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// `e` with such exponentials replaced. `lanes`: indices that stay within one slice, which those that are bound by
// reductions walk. `top` must be the largest of b's terms, of which a is one, so nothing overflows that did not before.
node_id by_terms_of_sums(graph& g, node_id e, const std::vector<node_id>& lanes);

}  // namespace sheaf::inline v0_1::plan
