// The text of kernel IR as a file that debuggers read lines of, where SHEAF_SYMBOLS tells them of kernels.
// Shown by tests/jit/lines.cpp. Private header.
#pragma once
#include <optional>

#include <sheaf/jit/ir/print.hpp>

namespace sheaf::inline v0_1::jit {

// Whether there are files: such code names one of this process, so it is no other process's.
bool lists_kernels();
// Writes /tmp/sheaf-PID-XXXXXX/NAME.N.ir; empty where lines are not wanted, or the file can't be written.
std::optional<ir::listing> listing_for(const ir::module& module);

}  // namespace sheaf::inline v0_1::jit
