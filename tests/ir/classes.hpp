// Plans serve calls of other extents than those they were made for: wherever the decisions of a plan hold for other
// extents, planning for these gives the same IR.
#pragma once
#include <string>

#include <sheaf/jit/pipeline.hpp>

namespace sheaf::test {

void expect_classes(const std::string& name, const graph& g, const plan::call_facts& call);

// Calls of any extents, where those of a class share a kernel (shape_policy::classes).
void count_kernels_of_classes(const std::string& name, const graph& g, const plan::call_facts& call);

inline constexpr std::size_t few_kernels = 8;
inline constexpr double share_with_few = 0.6;  // of the programs, at least

struct class_counts {
  int programs = 0, calls = 0, served = 0;
  // Of the programs whose kernels for calls of any extents were counted: how many need few, and which needs most.
  int counted = 0, with_few = 0;
  std::size_t most = 0;
  std::string most_of;
};
class_counts& counted_classes();

}  // namespace sheaf::test
