// Shared libraries opened at run time. Private header.
#pragma once
#include <string>
#include <vector>

namespace sheaf::inline v0_1::runtime::cuda {

// The first of `names` that opens; `path` is which. Throws code::device_failed, "compile for a GPU: expected WHAT,
// found ...", with the loader's words for each.
struct opened_library {
  void* handle = nullptr;
  std::string path;
};
opened_library open_library(const std::vector<std::string>& names, const std::string& what);

// Whether the process has it open.
bool is_open(const std::string& name);

// Throws code::device_failed where the library has no such symbol.
void* symbol_of(const opened_library& library, const char* name);

}  // namespace sheaf::inline v0_1::runtime::cuda
