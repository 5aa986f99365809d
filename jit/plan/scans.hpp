// Pass `scans`: a reduction whose range slides with an index is not computed anew for each place.
// - Running results (a range that only grows, or only shrinks) become a stage that runs as a scan.
// - A window along memory that moves by one element is a pass of its own, see windows.hpp.
// - Another, large beside its stride, becomes two scans in blocks of its size and one combination a result:
//   window [a, a + w) is what is left of a's block joined with what was begun of the next one, for any monoid
//   (van Herk 1992, Gil and Werman 1993). Nothing is subtracted, so nothing drifts and no NaN outlives its window.
// Shown by tests/jit/scan.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Works on one reduction of the stage; false: there is none. New stages are appended to `before`.
bool take_scan(graph& g, const facts& known, stage& s, std::vector<stage>& before, trust& trusted);

}  // namespace sheaf::inline v0_1::plan
