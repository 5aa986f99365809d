// Kernels for `perf inject --jit`: their machine code, and the lines it was made for, so that perf annotates it.
// Shown by tests/runtime/symbols_test.cpp. Private header.
#pragma once
#include <vector>

#include <sheaf/runtime/code_symbol.hpp>
#include <sheaf/runtime/line_table.hpp>

namespace sheaf::inline v0_1::runtime {

// A record for each function, with the code that is at its address now, in /tmp/jit-PID.dump, and one before it for its
// lines. One thread at a time.
void dump_code(const std::vector<code_symbol>& symbols, const std::vector<code_line>& lines);

}  // namespace sheaf::inline v0_1::runtime
