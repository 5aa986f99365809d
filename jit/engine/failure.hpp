// The words of a failed index check. Private header.
#pragma once
#include <optional>
#include <vector>

#include <sheaf/jit/lower/lower.hpp>
#include <sheaf/runtime/sheaf_call.h>

namespace sheaf::jit {

// Throws for one of graph::demands that a call does not meet, `at` these positions.
[[noreturn]] void fail_demand(const graph& g, int which, const std::vector<std::int64_t>& at,
                              std::optional<std::int64_t> found, std::optional<std::int64_t> limit);

// Throws code::index_out_of_range, or what a demand throws, for position `position` of a check that failed; reads the data
// that made it fail.
[[noreturn]] void fail_check(const graph& g, const plan::check& check, std::int64_t position, const sheaf_tensor* tensors);

}  // namespace sheaf::jit
