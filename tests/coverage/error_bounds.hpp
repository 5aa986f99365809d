// The rounding errors of a program's kernels in f32 against what explain() says they are at most.
#pragma once
#include <coverage/by_name.hpp>

namespace sheaf::test {

// words: of a program of f64, which is run in f32 on the data rounded to that, and compared with itself in f64.
void check_error_bounds(const std::vector<std::int32_t>& words, const table& data);

}  // namespace sheaf::test
