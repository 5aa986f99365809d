// The thread that compiles in the background: jobs run in order, owners take theirs back, and an exit waits for it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include <sheaf/jit/engine/background.hpp>

namespace sheaf::test::background_tests {
namespace {

using jit::background;

TEST(background, jobs_run_in_order) {
  std::vector<int> seen;
  std::atomic<bool> done = false;
  for (int k = 0; k < 10; ++k) background::the().post(&seen, [&seen, k] { seen.push_back(k); });
  background::the().post(&done, [&] { done = true; });
  while (!done) std::this_thread::yield();
  EXPECT_EQ((std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), seen);
}

TEST(background, an_owner_takes_its_jobs_back) {
  std::atomic<int> runs = 0;
  std::atomic<bool> may_go = false, began = false;
  background::the().post(&runs, [&] {
    began = true;
    while (!may_go) std::this_thread::yield();
    ++runs;
  });
  for (int k = 0; k < 5; ++k) background::the().post(&runs, [&] { ++runs; });
  while (!began) std::this_thread::yield();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    may_go = true;
  });
  background::the().forget(&runs);
  EXPECT_EQ(1, runs);  // the one that ran already
  later.join();
}

}  // namespace
}  // namespace sheaf::test::background_tests
