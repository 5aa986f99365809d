// Plans serve calls of other extents than those they were made for: wherever the decisions of a plan hold for other
// extents, planning for these gives the same IR.
#pragma once
#include <string>

#include <sheaf/jit/pipeline.hpp>

namespace sheaf::test {

void expect_classes(const std::string& name, const graph& g, const plan::call_facts& call);

// Calls of any extents, where those that are planned alike share a kernel, or those of a class.
void count_kernels_of_classes(const std::string& name, const graph& g, const plan::call_facts& call);

inline constexpr std::size_t few_kernels = 8;
inline constexpr double share_with_few = 1;     // of the programs, at least
inline constexpr double most_of_classes = 5;  // kernels of a program for 60 calls of classes, on average
inline constexpr double most_of_plans = 32;     // the same of calls that are planned each

struct class_counts {
  int programs = 0, calls = 0, served = 0;
  // Of the programs whose kernels for calls of any extents were counted: how many need few, which needs most, and what
  // all need.
  int counted = 0, with_few = 0;
  std::size_t most = 0, of_classes = 0;
  // Kernels of all programs of which those of plans were counted (shape_policy::automatic).
  int planned = 0;
  std::size_t of_plans = 0;
  std::string most_of;
};
class_counts& counted_classes();

}  // namespace sheaf::test
