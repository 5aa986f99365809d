// Rule `moving ranges`: of a map whose last index moves the range of a sum, as that of a filter of many taps, the range
// is counted from where it begins: sum(k.in(maximum(0, a - j), minimum(n, b - j)), ...) has one range of as many places
// for all j, and a condition where it ends early. Lanes then go along the results, as in a filter of few taps that is
// unrolled; along the range they would be folded for each result. Condition: ends whose difference the index does not
// change, loads that go along it, results enough. Output: the stage with such reductions. Shown by
// tests/jit/moving_ranges.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_moving_ranges(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
