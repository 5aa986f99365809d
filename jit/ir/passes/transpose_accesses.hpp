// Pass `transpose_accesses`: lanes that lie a row apart, in a loop that goes along these rows, are loaded and stored a
// few columns at a time: rows of columns, transposed in registers, instead of gathers and scatters. The order of
// iterations stays, and with it every bit. Shown by tests/jit/ir_passes.cpp.
#pragma once
#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::ir {

// Accesses that are gathers become transposed, and their loops unrolled.
void transpose_accesses(module& m);

}  // namespace sheaf::inline v0_1::ir
