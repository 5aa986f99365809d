// The cost model: every constant that speaks of a processor. Two kinds, kept apart by what they may decide.
#pragma once
#include <string>

namespace sheaf::inline v0_1::plan {

// Fixed: these choose which loop runs in lanes and where a reduction is placed, and so the order of additions. A
// measured number must never do that, or two machines, or two runs, would differ in their last bits.
struct weights {
  static constexpr double load = 1;  // of one element
  static constexpr double arithmetic = 0.25;
  static constexpr double share_of_lane = 1.0 / 16;  // what of either a lane costs
  static constexpr double strided = 0.75;            // what of a load, where lanes are some elements apart
};

// Measured once a machine and kept with the kernel cache (engine/machine.cpp); these are typical numbers, for where
// there is no cache. They may decide whether threads share a loop, which kernels take turns, what goes past the caches
// and what is asked for ahead, and the times that plans predict: nothing that changes a result.
struct machine {
  double read_one = 25, read_all = 50;    // bytes a nanosecond from memory, by one thread and by all
  double write_one = 25, write_all = 50;  // past the caches
  double copy_one = 30, copy_all = 60;    // both directions together
  double wake = 4000;      // nanoseconds until threads that sleep have shared a loop: less work is done sooner alone
  double operation = 0.5;  // nanoseconds of a weight of 1
  double second_cache = 1 << 20, last_cache = 32 << 20;  // bytes

  // Outputs as large go past the caches, if they are not read again soon.
  double past_cache() const { return last_cache / 2; }
  // Inputs as large come from memory: lines are asked for ahead.
  double from_memory() const { return last_cache / 8; }
  // Inputs as large were driven out of a core's own caches since the last call.
  double from_last_cache() const { return second_cache; }
  // Nanoseconds that so many bytes take at least, by all threads.
  double time(double read, double written) const;
};

// Lines "name value"; what is missing or no number leaves the typical one. The inverse of text_of, to four digits.
machine machine_of(const std::string& text);
std::string text_of(const machine& m);

}  // namespace sheaf::inline v0_1::plan
