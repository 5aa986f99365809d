// One core as if it were one of many: a call's loops are taken apart as the pool of so many threads takes them, the
// tasks run one after the other, and what many workers would have made of them is computed from their times. Shown by
// scripts/bench --cores.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <sheaf/runtime/thread_pool.hpp>

namespace sheaf::bench {

// One parallel loop of a call, or what runs alone: then there is one task. Seconds, or what the clock counts.
struct timed_loop {
  sheaf_body body = nullptr;
  bool is_shared = false;
  double before = 0;  // in the calling thread, since the loop before
  std::vector<double> tasks;

  double total() const;
  // Each worker that is free takes the next task, as those of the pool do.
  double on(int workers) const;
};

struct timed_call {
  std::vector<timed_loop> loops;
  double after = 0;  // the last of them

  // Of both the least, if the second has the same loops.
  void take_least(const timed_call& again);
};

// What a call comes to on many cores, all in seconds.
struct many_cores {
  double one = 0;      // on one core, whose tasks are planned for it alone
  double work = 0;     // all tasks and serial parts together, taken apart for many
  double serial = 0;   // of that, what runs outside of loops that are shared
  double loops = 0;    // what loops that are shared take on many cores, start-up not counted
  double waiting = 0;  // of that, while workers have no task left
  int shared = 0;      // loops
  int workers = 0;

  double simulated() const { return serial + loops; }
  double serial_percent() const { return work > 0 ? 100 * serial / work : 0; }
  double serial_percent_of_simulated() const { return work > 0 ? 100 * serial / simulated() : 0; }
  double waiting_percent() const { return loops > 0 ? 100 * waiting / simulated() : 0; }
  double speed_up() const { return simulated() > 0 ? one / simulated() : 0; }
  // A worker has hardly anything to do in a loop: threads would not be woken for it.
  bool is_small() const { return work < 10e-6 * workers * (shared > 0 ? shared : 1); }
};
many_cores simulated(const timed_call& call, int workers);
// A line for each loop, in microseconds.
std::string described(const timed_call& call, int workers);

// Takes the place of the pool: runs the tasks in order, in the calling thread, and reads the clock around each.
class task_recorder {
 public:
  task_recorder(int workers, std::function<double()> clock) : workers_(workers), clock_(std::move(clock)) {}
  parallel_hook hook() { return {run_loop, this, workers_}; }
  timed_call record(const std::function<void()>& call);

 private:
  static void run_loop(void* self, sheaf_body body, const sheaf_call* call, std::int64_t count, double cost) {
    static_cast<task_recorder*>(self)->run(body, call, count, cost);
  }
  void run(sheaf_body body, const sheaf_call* call, std::int64_t count, double cost);

  const int workers_;
  const std::function<double()> clock_;
  timed_call seen_;
  double last_ = 0;
  bool inside_ = false;
};

// While it lives, kernels that are loaded have names: in the map that perf reads.
class kernel_names {
 public:
  kernel_names();
  ~kernel_names();
  kernel_names(const kernel_names&) = delete;
  kernel_names& operator=(const kernel_names&) = delete;
};

// Runs the call under hooks of its own, `repeats` times or as long as `patience` seconds last, and takes the least of
// each task. What every loop came to is kept in `details`, a line each, where it is asked for.
many_cores on_many_cores(const std::function<void()>& call, int workers, int repeats, double patience,
                         std::string* details = nullptr);

// The line that scripts/bench makes a row of, and lines about loops that take more than they may.
void report_cores(const char* id, const char* what, const many_cores& of, const std::string& details);

}  // namespace sheaf::bench
