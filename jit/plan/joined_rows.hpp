// Rule `joined rows`: a reduction over several indices whose results are lanes, as one over their number. Its rows are
// then cut into blocks and walked as they lie, as those of one index are (pass `rows`). Shown by
// tests/jit/joined_rows.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_joined_rows(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
