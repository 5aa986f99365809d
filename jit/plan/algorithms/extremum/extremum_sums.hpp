// Sums over the ties of ranges of several indices, with steps, dilated, or of elements that hold reductions:
//   sum over u of value where key == mine      where no key lies beyond mine
// is S where the keys' own extremum E equals mine, else 0; S is the sum where the keys equal E. E and S are folded one
// index at a time, the last first, each along a walk of its own; of one index with a step they are those of windows
// that move by one element, and perhaps one element more; of a dilated one those of its parts, see polyphase.hpp. So no
// cost grows with a range. Shown by tests/jit/extremum_with_sum.cpp.
#pragma once
#include <sheaf/jit/plan/rule.hpp>

namespace sheaf::inline v0_1::plan {

bool extremum_with_sum_by_index(const context& c, stage& s, site& at);

}  // namespace sheaf::inline v0_1::plan
