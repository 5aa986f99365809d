// W1 to W13, value and gradient, at the sizes of the GPU's bench.
#include <gtest/gtest.h>

#include <workloads/jobs.hpp>

#include "record.hpp"

namespace sheaf::test {
namespace {

TEST(workloads, kernels) {
  for (const bench::job& one : bench::all_jobs()) {
    const graph g = unpack(one.words.data());
    const jit::call_class arguments = bench::arguments_of(one, g);
    plan::call_facts call;
    for (const auto& extents : arguments.input_extents) call.inputs.push_back({plan::amounts(extents), true});
    ir_record::only().add(one.id, g, call);
  }
}

TEST(golden, what_is_changed_or_missing_is_named) {
  EXPECT_EQ(difference("a 1 2 3\nb 4 5 6\n", "a 1 2 3\nb 4 5 6\n", false), "");
  EXPECT_EQ(difference("a 1 2 3\nb 4 5 6\n", "a 1 0 0\nb 4 5 6\n", false), "a has other kernels: x86_64, gpu\n");
  EXPECT_EQ(difference("a 1 2 3\n", "a 1 2 3\nb 4 5 6\n", false), "b is missing in the golden file\n");
  EXPECT_EQ(difference("a b 1 2 3\n", "a b 1 2 4\n", false), "a b has other kernels: gpu\n");
  EXPECT_EQ(difference("a 1 2 3\nb 4 5 6\n", "a 1 2 3\n", false), "b is in the golden file, and was not tried\n");
  EXPECT_EQ(difference("a 1 2 3\nb 4 5 6\n", "a 1 2 3\n", true), "");
}

}  // namespace
}  // namespace sheaf::test
