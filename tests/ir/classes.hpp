// Plans serve calls of other extents than those they were made for: wherever the decisions of a plan hold for other
// extents, planning for these gives the same IR.
#pragma once
#include <string>

#include <sheaf/jit/pipeline.hpp>

namespace sheaf::test {

void expect_classes(const std::string& name, const graph& g, const plan::call_facts& call);

struct class_counts {
  int programs = 0, calls = 0, served = 0;
};
class_counts& counted_classes();

}  // namespace sheaf::test
