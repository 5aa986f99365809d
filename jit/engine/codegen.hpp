// From kernel IR to executable code: memory cache, disk cache, then the code generator. Private header.
#pragma once
#include <memory>

#include <sheaf/jit/ir/ir.hpp>
#include <sheaf/runtime/object_loader.hpp>
#include <sheaf/runtime/sheaf_call.h>

namespace sheaf::jit {

struct loaded_code {
  runtime::loaded_object object;
  sheaf_entry entry = nullptr;
};

// One piece of code for equal text on this processor, whoever asks; safe from several threads.
// text: the printed module, which is the key. Throws code::codegen_unavailable where the plug-in can't be opened,
// code::codegen_failed with the generator's words.
std::shared_ptr<const loaded_code> code_for(const ir::module& module, const std::string& text);

// This processor, as far as code generation depends on it: family, model and features.
std::string processor_key();

}  // namespace sheaf::jit
