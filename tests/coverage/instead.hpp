// Another way to run the kernels of by_name, for the tests of other backends: where it is set, programs for the chosen
// backend are given to it, and run by the reference where it returns false.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <sheaf/runtime/sheaf_call.h>

namespace sheaf::test {

// words: of the program. tensors: inputs with their data, then outputs with memory for theirs.
inline std::function<bool(const std::vector<std::int32_t>& words, const sheaf_tensor* tensors)> run_instead;
// Of the program that is being checked, where each is run once, see ir/checks.cpp; empty: values are asked for.
inline std::string checked_name;

}  // namespace sheaf::test
