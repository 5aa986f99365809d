// The constants of the cost model for this machine. Private header.
#pragma once
#include <sheaf/jit/plan/machine.hpp>

namespace sheaf::jit {

// Those kept beside the kernels; measured (some 30 ms) and kept where there are none and the cache may be written; typical ones
// where it may not. They are read once a process and decide no result, see plan/machine.hpp.
const plan::machine& this_machine();

// Measures them now, with the threads of the hook in force.
plan::machine measured_machine();

}  // namespace sheaf::jit
