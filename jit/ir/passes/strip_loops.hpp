// Pass `strip loops`: a vector loop that divides its lanes by what does not change in it, as of x(j / n), x(j % n) and
// wrapped or reflected accesses, becomes a loop over the quotients with a vector loop over the remainders of each. In
// that the quotient is one number and the remainder goes up by one: nothing is divided, and gathers are rows or single
// elements. Only loops that fold nothing: what a lane stores is the same wherever vectors begin. Where the divisor of a
// call is small or not positive, the loop stays as it was. Shown by tests/jit/strip_loops.cpp.
#pragma once
#include <sheaf/jit/ir/passes/middle.hpp>

namespace sheaf::inline v0_1::ir {

// typical: what an extent is taken to be; any number is right.
void strip_loops(module& m, const extent_of& typical);

}  // namespace sheaf::inline v0_1::ir
