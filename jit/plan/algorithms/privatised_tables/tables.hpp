// Algorithm `privatised tables`: a scatter of many updates to few rows, as one table of partial results for each block
// of updates. A task fills a table and walks its block, and the tables are joined in the order of the blocks: their
// number follows from updates and rows, never from threads. Shown by tests/jit/group_by.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Puts a stage of partial results before a scatter, which becomes their fold.
bool take_tables(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
