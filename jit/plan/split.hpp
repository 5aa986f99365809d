// Step `split` of materialise: reductions over much data to few results, in blocks of a fixed size, then over the
// blocks. A sum whose terms are centred by another reduction over the same rows (of exp(x - max), of squares of x -
// mean) is centred block by block, so that the rows are read once. Shown by tests/jit/plan.cpp,
// tests/jit/plan_rows.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// What stands for reduction n of stage s, which may be split (cuts.hpp), once its parts are stages in `before`; no_node
// where it is better left whole.
node_id split(const context& c, node_id n, const stage& s);

}  // namespace sheaf::inline v0_1::plan
