// The arguments of a call: what distinguishes calls, and what can be checked of them without their data.
// Shown by tests/numeric/errors.cpp. Private header.
#pragma once
#include <sheaf/jit/engine/runner.hpp>
#include <sheaf/runtime/sheaf_call.h>

namespace sheaf::inline v0_1::jit {

constexpr int key_capacity = 256;

// What distinguishes the calls of a program: extents, along which dimension an input's elements lie closest, and
// whether the stride there, or the last of an output, is 1, and whether its rows have no gaps. -1 stands for an output
// that the caller has yet to allocate. Returns how many numbers that are, at most key_capacity.
int write_key(const graph& g, const sheaf_tensor* tensors, std::int64_t* key);

// Throws sheaf::error where extents contradict the program or each other.
call_class describe(const graph& g, const sheaf_tensor* tensors);

// The extents of all inputs, one after the other.
std::vector<std::int64_t> all_extents(const call_class& a);

// What plans and code depend on beside extents.
std::vector<std::int64_t> layout_of(const call_class& a);

}  // namespace sheaf::inline v0_1::jit
