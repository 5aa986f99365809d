// Everything that must hold of a program and its arguments. Input: both. Output: the first thing that does not hold,
// by kind and in words. Shown by tests/fuzz/main.cpp.
#pragma once
#include "run.hpp"

namespace sheaf::fuzz {

struct verdict {
  std::string kind;   // empty: all holds. What a shrunk program must fail with, too
  std::string words;
  bool refused = false;  // the language does not take it: nothing was compared
  bool rewritten = false;  // its printed form is simplified further where it is parsed
  bool error = false;    // the call failed as it should
  // elements: all, those with a finite bound, those compared bit for bit
  std::int64_t compared = 0, known = 0, exact = 0;
  int slopes = 0;                                   // derivatives compared with differences
  bool ok() const { return kind.empty(); }
};

// Bit for bit, save that a NaN is a NaN.
bool same_bits(const tensor_data& a, const tensor_data& b);
verdict check(const program& p, const arguments& a);
// The parts of it.
void check_values(const graph& g, const arguments& a, const outcome& found, const outcome& expected, verdict& v);
void check_differences(const program& p, const arguments& a, verdict& v);

}  // namespace sheaf::fuzz
