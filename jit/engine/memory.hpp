// Check of the memory of a call's arguments, before anything of it is touched. Input: the views of a call. Output:
// nothing, or sheaf::error, code::bad_argument. Shown by tests/numeric/memory.cpp. Private header.
#pragma once
#include <sheaf/runtime/sheaf_call.h>
#include <sheaf/dsl/graph/graph.hpp>

namespace sheaf::inline v0_1::jit {

// Elements have memory: a null pointer stands only where there are none. Outputs that the caller gives have places of
// their own, each element one, but for those that are an input element by element: these are updates, a word each at
// the end of the call's key, whose new size this returns. tensors: inputs, then outputs; an output without extents is
// the library's to allocate. Unless the call runs, nothing needs memory.
int check_memory(const graph& g, const sheaf_tensor* tensors, bool runs, std::int64_t* key, int size);

}  // namespace sheaf::inline v0_1::jit
