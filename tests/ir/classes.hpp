// Plans serve calls of other extents than those they were made for: wherever the decisions of a plan hold for other
// extents, planning for these gives the same IR.
#pragma once
#include <array>
#include <string>

#include <sheaf/jit/pipeline.hpp>

namespace sheaf::test {

void expect_classes(const std::string& name, const graph& g, const plan::call_facts& call);

// Calls of any extents, where those of a class share a kernel (shape_policy::classes).
void count_kernels_of_classes(const std::string& name, const graph& g, const plan::call_facts& call);

struct class_counts {
  int programs = 0, calls = 0, served = 0;
  std::array<int, 32> by_kernels{};  // programs that need so many for all extents
};
class_counts& counted_classes();

}  // namespace sheaf::test
