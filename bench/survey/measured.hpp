// One program of the survey: drawn, printed as loops, and measured in a process of its own, which may take too long or
// end. See main.cpp.
#pragma once
#include "machine.hpp"
#include "programs.hpp"

namespace sheaf::bench {

struct measured {
  std::uint64_t seed = 0;
  drawn_program program;
  std::string printed;  // as C++; empty: it cannot be
  std::string state = "not measured", plan;
  double own = 0, loops = 0, against = 0;  // seconds, and the median ratio of pairs
  double error = 0;                        // of the results, of the largest of the loops'
  work_counts counts;
  bounds bound;
};

measured with_loops(std::uint64_t seed, drawn_program program);
// keep: the folder where inputs and results are left, if it is named.
void measure(measured& m, void* library, const machine& here, const std::string& scratch, const std::string& keep);

// Instead: the program as so many cores would run it (support/cores.hpp), reported under its family or its seed.
struct core_settings {
  int workers = 0;
  bool details = false;
};
void simulate_cores(measured& m, const core_settings& how, const std::string& scratch);

// The machine as a process measures it that nothing else has run in: the pool of threads starts in it.
machine measured_machine(void* library, const std::string& scratch);

}  // namespace sheaf::bench
