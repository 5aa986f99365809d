// Constants of which definitions are stored, beside those of tuning.hpp: they only cost time.
#pragma once

namespace sheaf::inline v0_1::tuning::stages {

inline constexpr double reads_by_data = 4;  // factor; estimate: reads of a value of several tensors, stored for them

}  // namespace sheaf::inline v0_1::tuning::stages
