// Where a thread may run. Shown by tests/runtime/thread_pool_test.cpp.
#pragma once
#include <sched.h>

namespace sheaf::inline v0_1::runtime {

// A kernel that packs threads wakes a worker on the processor that the caller keeps busy, however idle others are, and
// the caller has done all alone by the time that the worker runs. A worker that wakes there leaves that processor to
// the caller from then on: it may run on the others that it may run on anyway, and on the one that it left before.
class processors {
 public:
  static int here() { return sched_getcpu(); }
  void leave(int busy) {
    if (busy < 0 || here() != busy) return;
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof all, &all) != 0) return;
    if (left_ >= 0) CPU_SET(left_, &all);
    CPU_CLR(busy, &all);
    if (CPU_COUNT(&all) > 0 && sched_setaffinity(0, sizeof all, &all) == 0) left_ = busy;
  }

 private:
  int left_ = -1;
};

}  // namespace sheaf::inline v0_1::runtime
