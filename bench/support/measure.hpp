// Timing for the benchmark programs, and the line each measurement is handed on as; scripts/bench makes the table.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace sheaf::bench {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
template <class Work>
double seconds_of(Work work) {
  const double start = now();
  work();
  return now() - start;
}
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// id what value unit bound percent error read written; 0 where there is no bound, nothing where no error was measured.
// The last two are the bytes that the bound stands for.
inline void report(const char* id, const char* what, double value, const char* unit, double bound = 0,
                   double percent = 0, double error = -1, double read = 0, double written = 0) {
  std::printf("row %s %s %.6g %s %.6g %.4g", id, what, value, unit, bound, percent);
  if (error >= 0) std::printf(" %.2g %.9g %.9g", error, read, written);
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace sheaf::bench
