#include <sheaf/runtime/cuda/module.hpp>

#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::runtime::cuda {

loaded_module::loaded_module(device_context& where, const std::vector<unsigned char>& cubin)
    : context_(where), bytes_(cubin.size()) {
  const device_context::current here(where);
  driver().module_load(&handle_, cubin.data(), 0, nullptr, nullptr);
}
loaded_module::~loaded_module() {
  try {
    const device_context::current here(context_);
    driver().module_unload.raw(handle_);
  } catch (const error&) {  // the device is gone
  }
}
function loaded_module::find(const std::string& name) const {
  const device_context::current here(context_);
  function found = nullptr;
  driver().module_function(&found, handle_, name.c_str());
  return found;
}

}  // namespace sheaf::inline v0_1::runtime::cuda
