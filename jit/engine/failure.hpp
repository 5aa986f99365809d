// The words of a failed index check. Private header.
#pragma once
#include <sheaf/jit/lower/lower.hpp>
#include <sheaf/runtime/sheaf_call.h>

namespace sheaf::jit {

// Throws code::index_out_of_range for position `position` of a check that failed; reads the data that made it fail.
[[noreturn]] void fail_check(const graph& g, const plan::check& check, std::int64_t position, const sheaf_tensor* tensors);

}  // namespace sheaf::jit
