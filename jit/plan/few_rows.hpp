// Rule: what is folded for each row of a map is stored where rows are few and long. Then tasks take parts of rows, each
// of which else would fold it anew. Shown by tests/jit/few_rows.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_few_rows(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
