// Where parallel loops run: the hook that an application can replace, and the pool behind it by default.
// Shown by tests/runtime/thread_pool_test.cpp.
#pragma once
#include <cstdint>

#include <sheaf/runtime/sheaf_call.h>

namespace sheaf::inline v0_1 {

// run must execute the body over all of [0, count), each iteration once, in any split, and return when all is done; it
// may be called from several threads at a time and from within a body. A null run means: everything in the calling
// thread. threads is what plans may count on.
struct parallel_hook {
  sheaf_parallel_for run;
  void* pool;
  int threads;
};

// Takes effect for calls that begin afterwards; the old pool must outlive the calls in flight.
void set_parallel_hook(const parallel_hook& hook);

// The hook in force; the default pool until one is set. Throws code::bad_setting where SHEAF_THREADS is no number.
parallel_hook current_parallel_hook();

namespace runtime {

// How a pool takes a loop apart. Which iterations the next chunk has follows from where it begins, so the chunks are
// the same whoever takes them. cost: see sheaf_parallel_for.
class loop_chunks {
 public:
  loop_chunks() = default;
  loop_chunks(std::int64_t count, double cost, int threads);
  // Else the caller is done sooner alone.
  bool are_shared() const { return shared_; }
  std::int64_t count() const { return count_; }
  std::int64_t end_of(std::int64_t begin) const;
  int helpers() const;  // threads beside the caller that find something to do

 private:
  std::int64_t count_ = 0, least_ = 1;  // iterations; of a chunk
  int threads_ = 1;
  bool shared_ = false;
};

// Threads start at the first loop that is worth one. The caller takes part; chunks are handed out by a counter, so an
// uneven loop balances itself. Loops within a loop, and loops of a second caller at the same time, run in their thread.
class thread_pool {
 public:
  explicit thread_pool(int threads);  // the calling thread counted
  ~thread_pool();
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  void run(sheaf_body body, const sheaf_call* call, std::int64_t count, double cost);

  parallel_hook hook();
  int threads() const;
  // Joins the threads, with no loop running; the next loop starts them again.
  void rest();
  // In the child of a fork: its threads are not there.
  void forget_threads();
  std::int64_t loops_shared() const;  // loops that were offered to the other threads, since the start

 private:
  struct state;
  state* state_;
};

// The default pool, if there is one: thread_pool::rest. Private.
void rest_default_pool();

}  // namespace runtime
}  // namespace sheaf::inline v0_1
