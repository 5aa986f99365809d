// Pass `promised constants`: which stages are made of promised inputs alone (call_facts::promised) and need not run in
// each call: lists of slices and of updates, the conditions under which they are made, and what only they read.
// Everything else reads the data anew and has its subscripts checked, so that a broken promise gives wrong results and
// touches no memory outside: of what is kept, others use only numbers of slices, of updates and of rows, that were
// inside when they were listed. Shown by tests/jit/promised.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

void mark_promised(const graph& g, const facts& known, std::vector<stage>& stages);

// Whether all that an expression reads are promised inputs.
bool is_promised(const graph& g, const facts& known, node_id root);

}  // namespace sheaf::inline v0_1::plan
