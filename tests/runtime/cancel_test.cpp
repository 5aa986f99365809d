#include <sheaf/runtime/cancel.hpp>

#include <vector>

#include <gtest/gtest.h>

namespace {

using namespace sheaf;

// A kernel of two loops; the first one's tasks count, and cancel at one of them.
struct counted {
  cancel_token token;
  std::atomic<std::int64_t> first = 0, second = 0;
  std::int64_t cancel_at = -1;
  int entered = 0;
};
counted* here = nullptr;

void count_first(const sheaf_call*, std::int64_t begin, std::int64_t end) {
  for (std::int64_t k = begin; k < end; ++k, ++here->first)
    if (k == here->cancel_at) here->token.cancel();
}
void count_second(const sheaf_call*, std::int64_t begin, std::int64_t end) { here->second += end - begin; }
std::int32_t two_loops(const sheaf_call* call) {
  ++here->entered;
  call->parallel_for(call->pool, count_first, call, 1000, 1e6);
  call->parallel_for(call->pool, count_second, call, 10, 1);
  return SHEAF_BAD_INDEX;
}

std::int32_t run(counted& c, const parallel_hook& hook) {
  here = &c;
  const sheaf_call call{nullptr, hook.run, hook.pool, nullptr, nullptr, 0};
  return runtime::run_cancellable(two_loops, call, c.token);
}

}  // namespace

TEST(cancel, a_call_that_nobody_cancels_does_all_of_it) {
  runtime::thread_pool pool(3);
  for (const parallel_hook& hook : {parallel_hook{nullptr, nullptr, 1}, pool.hook()}) {
    counted c;
    EXPECT_EQ(run(c, hook), SHEAF_BAD_INDEX) << "what the kernel answers";
    EXPECT_EQ(c.first, 1000);
    EXPECT_EQ(c.second, 10);
  }
}

TEST(cancel, a_loop_ends_and_what_follows_does_not_begin) {
  runtime::thread_pool pool(3);
  for (const parallel_hook& hook : {parallel_hook{nullptr, nullptr, 1}, pool.hook()}) {
    counted c;
    c.cancel_at = 5;
    EXPECT_THROW(run(c, hook), cancelled);
    EXPECT_LT(c.first, 1000);
    EXPECT_EQ(c.second, 0);
    EXPECT_THROW(run(c, hook), cancelled) << "until it is reset";
    EXPECT_EQ(c.entered, 1);
    c.token.reset(), c.cancel_at = -1, c.first = 0;
    EXPECT_EQ(run(c, hook), SHEAF_BAD_INDEX);
    EXPECT_EQ(c.first, 1000);
  }
}

TEST(cancel, scopes_nest_and_are_of_one_thread) {
  const cancel_token a, b;
  EXPECT_EQ(runtime::current_cancel_token(), nullptr);
  {
    const cancel_scope of_a(a);
    {
      const cancel_scope of_b(b);
      EXPECT_EQ(runtime::current_cancel_token(), &b);
    }
    EXPECT_EQ(runtime::current_cancel_token(), &a);
  }
  EXPECT_EQ(runtime::current_cancel_token(), nullptr);
}
