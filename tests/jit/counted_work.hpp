// Kernel IR that counts its own work: how many instructions each loop runs through, lane by lane. The counts are the
// same in every run, so what tasks take is compared without a clock. Shown by many_cores.cpp.
#pragma once
#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::test {

// Adds a buffer of one i64, the last slot of the call, to which every task adds what it does, and every kernel that is
// none.
void count_work(ir::module& m);

}  // namespace sheaf::test
