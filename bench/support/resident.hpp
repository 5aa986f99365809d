// Memory of this process: what programs give back need not go to the system at once, so that is asked for first.
#pragma once
#include <malloc.h>
#include <unistd.h>

#include <cstdio>

namespace sheaf::bench {

inline long resident_kilobytes() {
  malloc_trim(0);
  long all = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &all, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

}  // namespace sheaf::bench
