// Which products of a kernel are contracted: a sum of a product that is made in the same block and used nowhere else is
// one fused multiply-add, on every device. It is decided on Sheaf's IR, and not by a compiler's flag: that would depend
// on which uses its passes leave over, and so could differ between main loop and tail. Products that are not summed
// directly are rounded, so x*x - y*y is 0 for x == y. Shown by tests/jit/numerics.cpp.
#pragma once
#include <vector>

#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::numerics {

// By instruction: it is a product, and the combine that takes it multiplies and adds at once.
std::vector<bool> contracted(const ir::kernel& k);

}  // namespace sheaf::inline v0_1::numerics
