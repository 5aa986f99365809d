// Pass `insert_prefetch`: loads that a hardware prefetcher does not foresee. Shown by tests/jit/ir_passes.cpp.
// A row whose place is loaded: the row of a later iteration of the loop that counts the places. A row, or a slice of a
// list, that one loop reads and another one after it: in that other one, which finds it in a cache and so leaves the
// memory idle, the next row. Rows of a register tile: those of the next. Columns in lanes: those of rows some time
// later. Loops say how many iterations are predicted, buffers how many bytes.
#pragma once
#include <sheaf/jit/ir/ir.hpp>
#include <sheaf/jit/ir/passes/bytes_of_caches.hpp>

namespace sheaf::inline v0_1::ir {

// Precondition: no kernel has a prefetch of these loads yet.
void insert_prefetch(module& m, const bytes_of_caches& least);

// Pass `prefetch rows in lanes`, of transposed accesses: rows of lanes are as many streams as no hardware prefetcher
// follows, so those of the next lanes are prefetched.
void prefetch_rows_in_lanes(module& m);

}  // namespace sheaf::inline v0_1::ir
