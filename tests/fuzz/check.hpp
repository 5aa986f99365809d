// Everything that must hold of a program and its arguments. Input: both. Output: the first thing that does not hold,
// by kind and in words. Shown by tests/fuzz/main.cpp.
#pragma once
#include "approx.hpp"
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
// What the outputs may differ by.
struct bounded_outputs {
  approximation by;
  std::vector<const approximate_tensor*> of = {};

  bounded_outputs(const graph& g, const arguments& a) : by(g, inputs_of(g, a)) {
    for (int o = 0; o < g.outputs.size(); ++o) of.push_back(&by.of(g.outputs[o]));
  }
  static std::vector<const tensor_data*> inputs_of(const graph& g, const arguments& a) {
    std::vector<const tensor_data*> inputs;
    for (int i = 0; i < g.inputs.size(); ++i) inputs.push_back(&a.inputs.at(name_of_input(g, i)));
    return inputs;
  }
};

// The parts of it.
void check_values(const graph& g, const arguments& a, const bounded_outputs& bounds, const outcome& found,
                  const outcome& expected, verdict& v);
void check_differences(const program& p, const arguments& a, verdict& v);
// calls.cpp
// A limit of the planner that the documentation names, which small programs with many derivatives may reach.
bool is_too_large(const outcome& found);
void check_much_data(const graph& g, const arguments& a, const std::vector<std::vector<std::int64_t>>& shapes,
                     const bounded_outputs& bounds, const outcome& expected, verdict& v);
void check_other_sizes(const program& p, const graph& g, const arguments& a, verdict& v);
void check_adding(const graph& g, const arguments& a, const std::vector<std::vector<std::int64_t>>& shapes,
                  const bounded_outputs& bounds, const outcome& expected, verdict& v);

}  // namespace sheaf::fuzz
