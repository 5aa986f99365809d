// The rules by which `materialise` takes a stage apart, in the order in which they are tried. Each recognises one form
// and rewrites it; the first that applies is noted in the stage, so that explain() names it, and all are tried again.
#pragma once
#include <span>

#include <sheaf/jit/plan/rule.hpp>

namespace sheaf::inline v0_1::plan {

std::span<const rule> rules();
// Tried once each, in order, on a stage that none of those changes any more.
std::span<const rule> last_rules();

// The rule that changed the stage; null: none applies.
const rule* apply_rules(const context& c, stage& s);
bool applies(const rule& r, const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
