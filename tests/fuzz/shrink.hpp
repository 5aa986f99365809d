// Makes a failing program and its arguments smaller while the failure stays. Input: both, and what asks for the
// failure. Output: the smallest found within the time. Shown by tests/fuzz/README.md.
#pragma once
#include <functional>

#include "data.hpp"

namespace sheaf::fuzz {

struct reproducer {
  program p;
  arguments a;
};
using fails = std::function<bool(const reproducer&)>;

reproducer shrink(reproducer r, const fails& still_fails, double seconds);

}  // namespace sheaf::fuzz
