#include <sheaf/runtime/workspace.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>

#include <sheaf/runtime/settings.hpp>

namespace {

using namespace sheaf::runtime;

const int one = 0, another = 0;

TEST(workspace, a_thread_keeps_its_block) {
  const void* first = nullptr;
  {
    const workspace_block b(1000, &one);
    first = b.data();
    std::memset(b.data(), 1, 1000);
    EXPECT_EQ(0u, reinterpret_cast<std::uintptr_t>(b.data()) % 64);
    EXPECT_EQ(0u, workspace_kept());
  }
  EXPECT_GE(workspace_kept(), 1000u);
  EXPECT_EQ(first, workspace_block(500, &another).data());
  EXPECT_NE(nullptr, workspace_block(100000, &another).data());
  EXPECT_GE(workspace_kept(), 100000u);
  give_back_workspace(&one);  // another made it so large
  EXPECT_GE(workspace_kept(), 100000u);
  give_back_workspace(&another);
  EXPECT_EQ(0u, workspace_kept());
}

TEST(workspace, calls_within_calls_have_blocks_of_their_own) {
  const workspace_block outer(1000, &one);
  std::memset(outer.data(), 1, 1000);
  {
    const workspace_block inner(2000, &one);
    std::memset(inner.data(), 2, 2000);
    EXPECT_EQ(1, outer.data()[999]);
  }
  give_back_workspace(&one);
  EXPECT_EQ(0u, workspace_kept());
}

TEST(workspace, threads_have_their_own_and_give_them_back) {
  std::optional<workspace_block> here(std::in_place, 1000, &one);
  std::thread([&] {
    EXPECT_NE(here->data(), workspace_block(1000, &one).data());
    EXPECT_GE(workspace_kept(), 1000u);
  }).join();
  EXPECT_EQ(0u, workspace_kept());
  here.reset();
  std::thread([] { give_back_workspace(&one); }).join();
  EXPECT_EQ(0u, workspace_kept());
}

TEST(workspace, what_passes_the_limit_is_not_kept) {
  const auto most = static_cast<std::size_t>(current_settings().workspace_limit);
  { const workspace_block b(most, &one); }  // its pages are not touched
  EXPECT_EQ(0u, workspace_kept());
}

TEST(workspace, is_given_back_while_threads_use_it) {
  std::thread users[3];
  for (std::thread& t : users)
    t = std::thread([] {
      for (int k = 0; k < 20000; ++k) {
        const workspace_block b(static_cast<std::size_t>(64 + k % 1000), k % 2 ? &one : &another);
        std::memset(b.data(), k, 64);
      }
    });
  for (int k = 0; k < 2000; ++k) give_back_workspace(k % 2 ? &one : &another);
  for (std::thread& t : users) t.join();
  EXPECT_EQ(0u, workspace_kept());
}

}  // namespace
