// The built-in tuple monoids of an extremum: (extremum of the keys, fold of the values at it). The fold is a sum, of
// what ties, or of places the least or the greatest, so that of equals the first or the last is meant. Windows of them
// run as those of any tuple: by two scans, see scans.hpp. Shown by tests/jit/extremum_with_sum.cpp.
#pragma once
#include <sheaf/jit/plan/algorithms/extremum/extremum_ties.hpp>
#include <sheaf/jit/plan/rule.hpp>

namespace sheaf::inline v0_1::plan {

// Sums over ties of a window along memory: one pass, in which values run with their keys; see window_form. What holds a
// reduction is stored first.
bool extremum_with_sum_in_one_pass(const context& c, stage& s, site& at);
// What the keys must equal, as a stage of its own.
void store_mine(const context& c, stage& s, const extremum_ties& t);
// The sum of what ties at the extremum of a range of one size that moves with an index outside.
bool extremum_with_sum(const context& c, stage& s, site& at);
// The position of an extremum over such a range: the first of equals, or the last where the index runs down.
bool extremum_with_position(const context& c, stage& s, site& at);

}  // namespace sheaf::inline v0_1::plan
