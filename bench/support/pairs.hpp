// Medians of runs in pairs: the bound is measured beside each run, so that a machine that slows down slows both.
#pragma once
#include <support/measure.hpp>

namespace sheaf::bench {

// Wakes the threads of who is measured, as the call before has done where calls follow each other; one that sleeps
// takes 30 us to begin. Each program has its own: support/awake.cpp for Sheaf.
void wake_threads();

struct timing {
  double kernel, bound, percent;  // milliseconds, and the bound as percent of the kernel's time
};

// Two pairs warm up. A run that takes seconds is not repeated as often: `patience` seconds in all, one pair at least.
template <class Kernel, class Bound>
timing in_pairs(Kernel kernel, Bound bound, int repeats = 11, double patience = 4) {
  std::vector<double> kernels, bounds, percents;
  const double start = now();
  for (int k = -2; k < repeats; ++k) {
    const double limit = bound();
    wake_threads();
    const double own = seconds_of(kernel);
    const bool last = now() - start + own > patience;
    if (k < 0 && !last) continue;
    kernels.push_back(own * 1e3);
    bounds.push_back(limit * 1e3);
    percents.push_back(100 * limit / own);
    if (last) break;
  }
  return {median(kernels), median(bounds), median(percents)};
}

}  // namespace sheaf::bench
