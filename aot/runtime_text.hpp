// The texts of aot/runtime, as the build found them. Private header.
#pragma once
#include <string>

namespace sheaf::inline v0_1::aot {

// Of the file of that name.
std::string runtime_text(const char* file);

}  // namespace sheaf::inline v0_1::aot
