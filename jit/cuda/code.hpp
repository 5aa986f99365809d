// From emitted text to code on a device: memory cache, disk cache, then NVRTC. Private header.
#pragma once
#include <memory>
#include <string>

#include <sheaf/runtime/cuda/module.hpp>

namespace sheaf::jit {

// One piece of code for equal text on a device, whoever asks; safe from several threads. Throws sheaf::error.
std::shared_ptr<const runtime::cuda::loaded_module> code_on(runtime::cuda::device_context& where,
                                                            const std::string& text, const std::string& name);

}  // namespace sheaf::jit
