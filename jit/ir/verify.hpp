// The grammar of the kernel IR. verify() throws bad_ir naming the rule, the kernel and the instruction; the rules'
// names are those of the functions in verify.cpp, verify_values.cpp, verify_folds.cpp and verify_tiles.cpp. Shown by
// tests/jit/verify.cpp.
//
//   module_shape     buffers have an element type, rank and slot that fit their role; extents are as many as dimensions
//   local_size       local buffers have a known extent in each dimension but rank 1's, and hold at most 256 KiB
//   scope            a value is defined once, before its use, in the same block or one around it
//   arity            an elementwise op has its number of arguments
//   types            arguments and results of an op have fitting types; subscripts, loop bounds and extents are i64
//   vectorness       vectors exist inside a vector loop only; an op with a vector argument is a vector
//   loop_nesting     at most one vector loop around anything; lanes a power of two, 2 to 2048; a loop id entered once
//   parallel_at_top  a parallel loop is the last statement of a kernel, after pure instructions only
//   access_kind      uniform and contiguous accesses have scalar subscripts, gathers a vector one; lanes need a vector
//                    loop;
//                    contiguous and deinterleaved need a last dimension of stride 1; only loads are deinterleaved
//   accumulators     combined into from one width of lanes; read as declared; fold_lanes is for those of the vector
//                    loop's
//                    outside; scan_lanes also takes a scalar one, of its type or a wider floating one, and a vector,
//                    and where lanes begin anew
//                    a state of several values is combined as a whole, read value by value, and neither scanned nor
//                    slid
//   folds            of the program: those of one state stand in order; a step takes what is made before it
//   group_tile       copies go along rows of one type, an mma adds products of two panels of halves to f32 sums of
//                    its lanes
//   mask             boolean, and scalar where what it guards is scalar
//   shared_call      a call of shared kernels has no body, and workspaces of the types and ranks of theirs
//   check_order      kernels that store to check buffers come before all that store to outputs, and store to none
#pragma once
#include <stdexcept>

#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::ir {

struct bad_ir : std::logic_error {
  using std::logic_error::logic_error;
};

void verify(const module& m);

}  // namespace sheaf::inline v0_1::ir
