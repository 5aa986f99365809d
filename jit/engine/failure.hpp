// The words of a failed index check. Private header.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sheaf/runtime/sheaf_call.h>
#include <sheaf/jit/pipeline.hpp>

namespace sheaf::inline v0_1::jit {

// Throws for one of graph::demands that a call does not meet, `at` these positions.
[[noreturn]] void fail_demand(const graph& g, int which, const std::vector<std::int64_t>& at,
                              std::optional<std::int64_t> found, std::optional<std::int64_t> limit);

// What to write instead of x(i + 1) for all i of x, which is out of range at the last: the range of the index is the
// tensor's own, of which fewer can be read so. Empty where this is not the mistake.
std::string range_hint(const graph& g, const std::string& tensor, int dimension, node_id subscript);

// How the words get at an element of a tensor: false where it can't be read any more. A tensor whose data is null is
// not read.
using element_reader = std::function<bool(void* to, const void* from, std::size_t bytes)>;
bool read_host(void* to, const void* from, std::size_t bytes);

// Throws code::index_out_of_range, or what a demand throws, for position `position` of a check that failed; reads the
// data that made it fail. `written`: the graph with nodes of the same numbers that the text is taken from.
[[noreturn]] void fail_check(const graph& g, const graph& written, const plan::check& check, std::int64_t position,
                             const sheaf_tensor* tensors, const element_reader& read = read_host);

}  // namespace sheaf::inline v0_1::jit
