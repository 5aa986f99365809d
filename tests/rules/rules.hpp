// Any rule of the planner may be deleted: a program planned without one that applied has the same values, up to the
// order of additions.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>

#include "plan_harness.hpp"

namespace sheaf::test {

// The plans of a program on the data that `give` puts into a trial, as they are and as if there were much of them: with
// all rules, and without each that applied and has not been deleted from most_deletions() plans.
void expect_without_rules(const std::string& name, const graph& g, const std::function<void(trial&)>& give);

int most_deletions();

// How many plans went without it, by rule.
std::map<std::string, int>& deletions();

}  // namespace sheaf::test
