// From kernel IR to executable code: memory cache, disk cache, then the code generator. Private header.
#pragma once
#include <cstdint>
#include <memory>

#include <sheaf/runtime/sheaf_call.h>
#include <sheaf/jit/ir/ir.hpp>
#include <sheaf/jit/plan/options.hpp>
#include <sheaf/runtime/kernel_cache.hpp>
#include <sheaf/runtime/object_loader.hpp>

namespace sheaf::inline v0_1::jit {

struct loaded_code {
  runtime::loaded_object object;
  sheaf_entry entry = nullptr;
};

// Where a thread's code came from; a GPU's counts too.
struct code_counts {
  std::int64_t compiled = 0, from_disk = 0, from_memory = 0;
};
code_counts& counted();

// One module of code for equal text on one processor, whoever asks; safe from several threads.
// text: the printed module, which is the key, with the processor and whether it is strict. Throws
// code::codegen_unavailable where the plug-in can't be opened, code::codegen_failed with the generator's words,
// code::unsupported where the processor cannot keep a promise.
std::shared_ptr<const loaded_code> code_for(const ir::module& module, const std::string& text,
                                            const options& overrides);

// The cache on disk as it is now, and a sentence that says so and outlives the program.
runtime::cache_state disk_cache_state(const char*& sentence);

// The processor that code is for: an option's, or a setting's; empty: this one.
std::string target_of(const options& overrides);

}  // namespace sheaf::inline v0_1::jit
