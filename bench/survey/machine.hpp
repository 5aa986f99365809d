// What this machine reaches in plain loops of the widest vectors, and the least time that a program's work takes at
// these rates. Input: a compiled text of such loops, and what loops.hpp counts. Shown by the survey.
#pragma once
#include <cstdio>
#include <string>
#include <vector>

#include "loops.hpp"

namespace sheaf::bench {

// Processor time of this process where there is one thread, else time: others use the machine, too.
double own_seconds();
void use_threads(int count);
bool is_one_thread();

struct bounds {
  double bytes = 0, arithmetic = 0, functions = 0, updates = 0;  // seconds
  double all() const { return std::max({bytes, arithmetic + functions, updates}) + start_up; }
  const char* which() const;
  static constexpr double start_up = 1e-6;
};

class machine {
 public:
  static const char* text();        // C++ of the loops that are measured
  explicit machine(void* library);  // measures: about a second
  // tables: bytes of the largest table that is updated
  bounds of(const work_counts& counts, double tables) const;
  std::string described() const;
  void write(std::FILE* to) const;
  static machine read(const std::string& file);

 private:
  machine() = default;
  struct by_size {
    double bytes, seconds;
  };
  static double at(const std::vector<by_size>& list, double bytes);

  double arithmetic_ = 0, division_ = 0, functions_[64] = {};  // seconds each
  std::vector<by_size> lines_, updates_;                       // seconds of one, by how much is walked
};

}  // namespace sheaf::bench
