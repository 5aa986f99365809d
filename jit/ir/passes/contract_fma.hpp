// Pass `contract fma`: a sum of a product that is made in the same block and used nowhere else is one fused
// multiply-add, on every device. It is decided on Sheaf's IR, and not by a compiler's flag: that would depend on which
// uses its passes leave over, and so could differ between main loop and tail. Products that are not summed directly are
// rounded, so x*x - y*y is 0 for x == y. Shown by tests/jit/numerics.cpp.
#pragma once
#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::ir {

void contract_fma(module& m);

}  // namespace sheaf::inline v0_1::ir
