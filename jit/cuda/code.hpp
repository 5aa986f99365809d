// From emitted text to code on a device: memory cache, disk cache, then NVRTC. Private header.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <sheaf/runtime/cuda/module.hpp>

namespace sheaf::inline v0_1::jit {

using device_code = std::shared_ptr<const runtime::cuda::loaded_module>;

// One module of code for equal text on a device, whoever asks; safe from several threads. Texts that are in neither
// cache are compiled at the same time. Throws sheaf::error.
std::vector<device_code> code_on(runtime::cuda::device_context& where, const std::vector<std::string>& texts,
                                 const std::string& name);

}  // namespace sheaf::inline v0_1::jit
