#include <sheaf/runtime/error.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <type_traits>

namespace {

static_assert(std::is_nothrow_copy_constructible_v<sheaf::error> && std::is_nothrow_copy_assignable_v<sheaf::error>);

TEST(error, says_operation_then_expected_then_found) {
  const sheaf::error e(sheaf::code::extent_mismatch, "pooled, axis t", "extent 3", "extent 4");
  EXPECT_STREQ(e.what(), "pooled, axis t: expected extent 3, found extent 4");
  EXPECT_EQ(e.code(), sheaf::code::extent_mismatch);
  EXPECT_EQ(e.fault(), sheaf::fault::user);
  EXPECT_STREQ(sheaf::error(sheaf::code::io, "read", "a file").what(), "read: expected a file");
}

TEST(error, outlives_the_one_it_was_copied_from) {
  sheaf::error kept(sheaf::code::io, "a", "b");
  {
    const sheaf::error first(sheaf::code::codegen_failed, "emit", "valid IR", "none");
    kept = first;
    const sheaf::error second(first);
    EXPECT_STREQ(second.what(), first.what());
  }
  EXPECT_STREQ(kept.what(), "emit: expected valid IR, found none");
  EXPECT_EQ(kept.fault(), sheaf::fault::internal);
}

TEST(error, every_code_has_a_name_of_its_own) {
  for (int i = 0; i <= static_cast<int>(sheaf::code::cancelled); ++i)
    for (int j = 0; j < i; ++j)
      EXPECT_STRNE(name_of(static_cast<sheaf::code>(i)), name_of(static_cast<sheaf::code>(j)));
}

}  // namespace
