// A reduction over several indices whose results are lanes, as one over the number of its rows: these are then cut into
// blocks and walked as they lie, as those of one index are (split.hpp, rows.hpp). Shown by
// tests/jit/collapsed_rows.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// The same reduction of a stage over one index; n itself where its rows are not collapsed.
node_id with_collapsed_rows(const context& c, node_id n, const stage& s);

}  // namespace sheaf::inline v0_1::plan
