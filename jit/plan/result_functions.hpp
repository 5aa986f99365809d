// Functions of what short rows are folded to: `log(1 + sum(f.in(off(b), off(b + 1)), p(t, f)))`. Lanes run along a row,
// so the function would be computed of one number at a time. The folds are stored and the functions run in lanes, one
// for each result. So are functions of the updates of a scatter, which are made one by one.
// Shown by tests/jit/result_functions.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::plan {

bool take_result_functions(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
