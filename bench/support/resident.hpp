// Memory of this process.
#pragma once
#include <malloc.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>

namespace sheaf::bench {

// What programs give back need not go to the system at once, so that is asked for first.
inline long resident_kilobytes() {
  malloc_trim(0);
  long all = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &all, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// Of malloc, and of anonymous mappings with code in them: kernels.
inline long allocated_kilobytes() {
  const struct mallinfo2 m = mallinfo2();
  std::size_t bytes = m.uordblks + m.hblkhd;
  std::FILE* file = std::fopen("/proc/self/maps", "re");
  unsigned long from = 0, to = 0, inode = 0;
  char rights[8] = {};
  while (file != nullptr && std::fscanf(file, "%lx-%lx %7s %*s %*s %lu%*[^\n]", &from, &to, rights, &inode) >= 4)
    if (inode == 0 && rights[2] == 'x') bytes += to - from;
  if (file != nullptr) std::fclose(file);
  return static_cast<long>(bytes / 1024);
}

}  // namespace sheaf::bench
