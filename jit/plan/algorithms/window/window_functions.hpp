// Rule `functions in windows`: a slow function of what ranges slide over is stored once for each place, where it would
// be computed for each range that holds the place:
//   sum(u, w(u) * exp(x(t + u)))  is  sum(u, w(u) * f(t + u)) with f(s) = exp(x(s))
// Input: a reduction over ranges that slide along indices outside of it, in one dimension or several. Output: the
// reduction of loads; the values are those that it had. Shown by tests/rules/algorithms.cpp and
// tests/jit/window_functions.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::plan {

node_id take_window_functions(const context& c, node_id n, const stage& s);

}  // namespace sheaf::inline v0_1::plan
