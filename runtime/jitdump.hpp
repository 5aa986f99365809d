// Kernels for `perf inject --jit`: their machine code, so that perf annotates it too.
// Shown by tests/runtime/symbols_test.cpp. Private header.
#pragma once
#include <vector>

#include <sheaf/runtime/code_symbol.hpp>

namespace sheaf::inline v0_1::runtime {

// A record for each function, with the code that is at its address now, in /tmp/jit-PID.dump. One thread at a time.
void dump_code(const std::vector<code_symbol>& symbols);

}  // namespace sheaf::inline v0_1::runtime
