// Names of loaded kernels for profilers and debuggers, where SHEAF_SYMBOLS asks for them: a line for each function in
// /tmp/perf-PID.map, and the object itself by GDB's JIT interface.
// Shown by tests/runtime/symbols_test.cpp. Private header.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sheaf/runtime/code_symbol.hpp>

namespace sheaf::inline v0_1::runtime {

// A copy of an object whose sections have the addresses where they were loaded, as debuggers know it; null: none.
struct told_object;
// section_addresses: by section, 0 for those that are not loaded.
told_object* tell_symbols(const void* bytes, std::size_t size, const std::vector<std::uint64_t>& section_addresses,
                          const std::vector<code_symbol>& symbols);
// Its code is no longer there.
void untell_symbols(told_object* told) noexcept;

}  // namespace sheaf::inline v0_1::runtime
