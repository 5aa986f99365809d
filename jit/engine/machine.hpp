// The constants of the cost model for this machine. Private header.
#pragma once
#include <string>

#include <sheaf/jit/plan/machine.hpp>

namespace sheaf::inline v0_1::jit {

// Those kept beside the kernels; measured (some 30 ms) and kept where there are none and the cache may be written;
// typical ones where it may not. They are read once a process and decide no result, see plan/machine.hpp.
const plan::machine& this_machine();

// Measures them now, with the threads of the hook in force.
plan::machine measured_machine();

// Bytes of the data cache of this level that one core reaches, as the kernel lists them in `folder`; 0 where it lists
// none. sysconf adds up the last caches of all sockets' core complexes (glibc 2.36 on an EPYC: 384 MB where a core
// reaches 32).
double cache_bytes(int level, const std::string& folder = "/sys/devices/system/cpu/cpu0/cache");

}  // namespace sheaf::inline v0_1::jit
