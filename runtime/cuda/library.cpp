#include <sheaf/runtime/cuda/library.hpp>

#include <dlfcn.h>

#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::runtime::cuda {

opened_library open_library(const std::vector<std::string>& names, const std::string& what) {
  std::string tried;
  for (const std::string& name : names) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return {handle, name};
    tried += (tried.empty() ? "" : "; ") + std::string(dlerror());
  }
  fail(code::device_failed, "compile for a GPU", what, tried);
}

bool is_open(const std::string& name) {
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

void* symbol_of(const opened_library& library, const char* name) {
  void* found = dlsym(library.handle, name);
  if (found == nullptr)
    fail(code::device_failed, "compile for a GPU", std::string(name) + " in " + library.path, "none");
  return found;
}

}  // namespace sheaf::inline v0_1::runtime::cuda
