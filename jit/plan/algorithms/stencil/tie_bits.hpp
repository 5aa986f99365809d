// Algorithm `tie bits`, on a GPU: of a small window whose extremum is stored, which of its elements tie with it are the
// bits of one number, stored beside the extremum. What asks each element of each window whether it ties, as the
// gradient of max pooling, then reads that number and neither the elements nor the extremum again.
// Shown by tests/cuda/tie_bits.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_tie_bits(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
