// Pass `non_temporal_stores`: large outputs are stored past the caches. Shown by tests/jit/ir_passes.cpp.
#pragma once
#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::ir {

// Is it an output of at least `from` bytes that no kernel reads again soon?
bool leaves_caches(const buffer& b, double from);

// A store that reads what it stores over first would wait for memory: only those `once` are stored so, in whole
// vectors of adjacent elements. `from`: bytes of the smallest output that caches would not keep.
void non_temporal_stores(module& m, double from);

}  // namespace sheaf::inline v0_1::ir
