// What a loop's body weighs. These choose which loop runs in lanes and where a reduction is placed, and so the order of
// additions: they are the same for every processor, or two machines would differ in their last bits.
#pragma once

namespace sheaf::inline v0_1::plan {

struct weights {
  static constexpr double load = 1;  // of one element
  static constexpr double arithmetic = 0.25;
  static constexpr double share_of_lane = 1.0 / 16;  // what of either a lane costs
  static constexpr double strided = 0.75;            // what of a load, where lanes are some elements apart
};

}  // namespace sheaf::inline v0_1::plan
