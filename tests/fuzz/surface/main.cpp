// Programs written in C++ against the same programs parsed from text, each in a process of its own. Input: the
// programs compiled in. Output: a line for each that differs; exit status 1 then. See ../README.md.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "../surface.hpp"

int main() {
  using namespace sheaf::fuzz;
  setenv("SHEAF_CACHE", "off", 0);
  int wrong = 0;
  for (const auto& [seed, run] : surface_programs()) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      std::string words;
      try {
        words = run_surface(seed, run);
      } catch (const std::exception& e) {
        words = e.what();
      }
      if (!words.empty()) std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), words.c_str());
      std::fflush(stdout);
      _exit(words.empty() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
      std::printf("seed %llu: ended by signal %d\n", static_cast<unsigned long long>(seed), WTERMSIG(status));
    wrong += status != 0;
  }
  std::printf("%zu programs through the surface, %d failed\n", surface_programs().size(), wrong);
  return wrong == 0 ? 0 : 1;
}
