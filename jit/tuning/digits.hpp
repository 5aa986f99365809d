// Thresholds of rule `digits of indices` (plan/index_digits.cpp): they cost time and decide no bits.
#pragma once
#include <cstdint>

namespace sheaf::inline v0_1::tuning::digits {

inline constexpr double most_asked = 64;  // iterations; estimate: of a loop that an equality is left of, each asks it

}  // namespace sheaf::inline v0_1::tuning::digits
