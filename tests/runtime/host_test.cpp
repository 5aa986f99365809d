#include <sheaf/runtime/host.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <sheaf/runtime/array.hpp>
#include <sheaf/runtime/settings.hpp>
#include <sheaf/runtime/thread_pool.hpp>

namespace {

using namespace sheaf;

std::string sentence_of(auto&& call) {
  try {
    call();
  } catch (const error& e) {
    return e.what();
  }
  return "no error";
}

// In a process of its own, for what can be done once; its exit status.
int in_child(auto&& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct counted {
  std::atomic<std::int64_t> allocated{0}, released{0};
};
void* allocate(void* context, std::size_t bytes) {
  static_cast<counted*>(context)->allocated += static_cast<std::int64_t>(bytes);
  return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
}
void release(void* context, void* block, std::size_t bytes) {
  static_cast<counted*>(context)->released += static_cast<std::int64_t>(bytes);
  std::free(block);
}

// Iterations that another thread than the caller's ran.
std::atomic<int> elsewhere;
int shared_iterations() {
  static std::thread::id caller;
  caller = std::this_thread::get_id();
  elsewhere = 0;
  const auto body = [](const sheaf_call*, std::int64_t begin, std::int64_t end) {
    if (std::this_thread::get_id() == caller) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    else elsewhere += static_cast<int>(end - begin);
  };
  const parallel_hook hook = current_parallel_hook();
  const sheaf_call call{};
  hook.run(hook.pool, body, &call, 64, 1e6);
  return elsewhere;
}

TEST(host, a_setting_of_the_application_comes_before_the_environment) {
  EXPECT_EQ(in_child([] {
              setenv("SHEAF_THREADS", "3", 1);
              set_setting("SHEAF_THREADS", "5");
              set_setting("SHEAF_DEBUG", "2");
              set_setting("SHEAF_DEBUG", nullptr);
              const bool right = runtime::current_settings().threads == 5 && runtime::current_settings().debug == 0;
              const std::string late = sentence_of([] { set_setting("SHEAF_THREADS", "4"); });
              return right && late == "set_setting: expected a call before the first program is compiled, found one "
                                      "after it" ? 0 : 1;
            }),
            0);
  EXPECT_EQ(sentence_of([] { set_setting("SHEAF_NOTHING", "1"); }),
            "set_setting: expected the name of a setting, found \"SHEAF_NOTHING\"");
}

TEST(host, lines_of_the_log_go_to_the_application) {
  EXPECT_EQ(in_child([] {
              set_setting("SHEAF_DEBUG", "2");
              static std::string lines;
              set_log_sink([](void* to, int level, const char* line) {
                *static_cast<std::string*>(to) += std::to_string(level) + line;
              }, &lines);
              runtime::debug_line(2, "a");
              runtime::debug_line(3, "b");
              return lines == "2a" ? 0 : 1;
            }),
            0);
}

TEST(host, memory_of_arrays_is_the_applications) {
  counted count;
  set_allocator({allocate, release, &count});
  {
    array<float, 2> a(1000, 2000);  // beyond what is mapped by itself otherwise
    EXPECT_EQ(a(999, 1999), 0);
    EXPECT_EQ(count.allocated.load(), 8'000'000);
    EXPECT_EQ(sentence_of([] { set_allocator({}); }),
              "set_allocator: expected a call while no array is alive, found 1 blocks of memory");
  }
  EXPECT_EQ(count.released.load(), 8'000'000);
  set_allocator({});
  { const array<float, 1> b(10); }
  EXPECT_EQ(count.allocated.load(), 8'000'000);
  EXPECT_EQ(sentence_of([] { set_allocator({allocate, nullptr, nullptr}); }),
            "set_allocator: expected both functions or none, found one");
}

TEST(host, threads_end_at_shutdown_and_start_again) {
  EXPECT_EQ(in_child([] {
              set_setting("SHEAF_THREADS", "3");
              const auto threads = [] {
                std::FILE* file = std::fopen("/proc/self/status", "r");
                char line[256];
                int n = 0;
                while (std::fgets(line, sizeof line, file)) std::sscanf(line, "Threads: %d", &n);
                std::fclose(file);
                return n;
              };
              if (shared_iterations() == 0 || threads() != 3) return 1;
              shutdown();
              if (threads() != 1) return 2;
              shutdown();
              return shared_iterations() > 0 && threads() == 3 ? 0 : 3;
            }),
            0);
}

TEST(host, the_child_of_a_fork_has_threads_of_its_own) {
  EXPECT_EQ(in_child([] {
              set_setting("SHEAF_THREADS", "3");
              if (shared_iterations() == 0) return 1;
              return in_child([] {
                alarm(20);
                if (shared_iterations() == 0) return 2;
                shutdown();
                return 0;
              });
            }),
            0);
}

TEST(host, what_was_thrown_is_a_value) {
  EXPECT_TRUE(attempt([] {}));
  const status s = attempt([] { throw error(code::bad_argument, "call", "one", "two"); });
  EXPECT_FALSE(s);
  EXPECT_EQ(s.code(), code::bad_argument);
  EXPECT_STREQ(s.what(), "call: expected one, found two");
  EXPECT_EQ(attempt([] { throw std::bad_alloc(); }).code(), code::out_of_memory);
}

}  // namespace
