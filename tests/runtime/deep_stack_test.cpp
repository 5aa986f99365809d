#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <gtest/gtest.h>
#include <sheaf/runtime/deep_stack.hpp>
#include <sheaf/runtime/error.hpp>

namespace sheaf::runtime {
namespace {

enum : int { done, failed_with_a_sentence, something_else };

// What becomes of work in a process that may have so much more address space.
int with_more_memory(std::size_t bytes) {
  const pid_t child = fork();
  if (child == 0) {
    std::FILE* const statistics = std::fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    if (statistics == nullptr || std::fscanf(statistics, "%lu", &pages) != 1) _exit(something_else);
    const rlim_t most = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + bytes;
    const rlimit limit{most, most};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(something_else);
    try {
      int end = something_else;
      on_deep_stack([&] { end = done; });
      _exit(end);
    } catch (const error& e) {
      _exit(e.code() == code::out_of_memory ? failed_with_a_sentence : something_else);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : something_else;
}

TEST(deep_stack, is_smaller_where_address_space_is_limited) {
  EXPECT_EQ(with_more_memory(deep_stack_bytes * 2), done);
  EXPECT_EQ(with_more_memory(deep_stack_bytes / 2), done);
  EXPECT_EQ(with_more_memory(least_deep_stack_bytes * 3 / 2), done);
}
TEST(deep_stack, is_not_there_without_address_space) {
  EXPECT_EQ(with_more_memory(least_deep_stack_bytes / 2), failed_with_a_sentence);
}

}  // namespace
}  // namespace sheaf::runtime
