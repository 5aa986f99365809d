// Rules: a reduction whose range slides with an index is not computed anew for each place.
// - Running results (a range that only grows, or only shrinks) become a stage that runs as a scan.
// - A window along memory that moves by one element is a pass of its own, see windows.hpp.
// - Another, large beside its stride, becomes two scans in blocks of its size and one combination a result:
//   window [a, a + w) is what is left of a's block joined with what was begun of the next one, for any monoid
//   (van Herk 1992, Gil and Werman 1993). Nothing is subtracted, so nothing drifts and no NaN outlives its window.
// Shown by tests/jit/scan.cpp.
#pragma once
#include <sheaf/jit/plan/rule.hpp>

namespace sheaf::inline v0_1::plan {

// A subscript in which a bound index cancels, as in x(t + (i - t)), without it.
bool cancel_subscripts(const context& c, stage& s, site& at);
// See separate.hpp.
bool separate_factors(const context& c, stage& s, site& at);
// A running fold of maps h -> b + a * h; see recurrence.hpp.
bool scan_maps(const context& c, stage& s, site& at);
// What comes after a place of a long axis: one place further in a scan in blocks.
bool scan_of_what_follows(const context& c, stage& s, site& at);
bool scan(const context& c, stage& s, site& at);
// A running result whose range is cut, or grows by other steps, is read from a plain one.
bool look_up_scan(const context& c, stage& s, site& at);
// See windows.hpp.
bool window_in_one_pass(const context& c, stage& s, site& at);
bool window_of_two_scans(const context& c, stage& s, site& at);
// Each value of the state that a window of `width` places comes to, of any monoid.
flat<node_id> window_by_two_scans(const context& c, const sliding& r, std::int64_t width, const stage& s);

}  // namespace sheaf::inline v0_1::plan
