// What decides which checks a plan has.
#pragma once

namespace sheaf::inline v0_1::tuning::checks {

inline constexpr int many_indices = 48;  // indices; fuzz: with less, plans of irregular calls have indices left

}  // namespace sheaf::inline v0_1::tuning::checks
