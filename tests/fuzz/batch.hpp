// Checks programs in processes of their own, so that one that ends its process is a finding like others.
// Input: seeds. Output: a verdict for each. Shown by tests/fuzz/main.cpp.
#pragma once
#include <functional>

#include "check.hpp"

namespace sheaf::fuzz {

struct totals {
  std::int64_t programs = 0, refused = 0, errors = 0, rewritten = 0, compared = 0, known = 0, exact = 0, slopes = 0;
};
struct finding {
  std::uint64_t seed = 0;
  std::string kind, words;
};

// One program in a process of its own.
verdict isolated(const program& p, const arguments& a, int seconds);

struct batch_limits {
  std::uint64_t first = 1, count = 2000;
  double seconds = 1e9;
  int jobs = 2;
  int seconds_each = 60;
};
// Calls `found` for each program that fails, and `progress` now and then.
totals run_batch(const batch_limits& limits, const std::function<void(const finding&)>& found,
                 const std::function<void(const totals&)>& progress);

}  // namespace sheaf::fuzz
