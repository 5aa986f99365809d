// The calling convention is C and of a fixed layout: kernels compiled ahead of time depend on it.
#include <gtest/gtest.h>

#include <sheaf/runtime/sheaf_call.h>
#include <cstddef>
#include <type_traits>

static_assert(std::is_standard_layout_v<sheaf_tensor> && std::is_trivial_v<sheaf_tensor>);
static_assert(std::is_standard_layout_v<sheaf_call> && std::is_trivial_v<sheaf_call>);

TEST(calling_convention, fields_stand_where_emitted_code_reads_them) {
  EXPECT_EQ(offsetof(sheaf_tensor, extents), sizeof(void*));
  EXPECT_EQ(offsetof(sheaf_tensor, strides), 2 * sizeof(void*));
  EXPECT_EQ(offsetof(sheaf_call, parallel_for), sizeof(void*));
  EXPECT_EQ(offsetof(sheaf_call, failure), 3 * sizeof(void*));
}
