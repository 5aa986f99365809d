// What runs in parallel, for every form of stage: which loop's iterations threads take, and how many at a time. And of
// kernels: how many tasks they have, what one costs, and whether threads share them at all. Shown by
// tests/jit/plan.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Input: a stage's form, loops, vector and lanes. Output: `parallel` and `chunk`, with that loop outermost unless it is
// the stage's own; on a GPU also fewer lanes, where wider ones are too few tasks.
void share_tasks(graph& g, const facts& known, stage& s);

// Tasks are blocks of rows that several stages walk.
void share_blocks(stage& s, const row_blocks& rows);

// Of a kernel.
void share_parts(const graph& g, const facts& known, const program_plan& plan, kernel_plan& k);
// A tile of iterations that tasks would share is worth more than parts of them.
inline bool takes_parts(const kernel_plan& k) { return k.second != no_node && k.rows_of_task == 1; }
amount tasks_in(const facts& known, const kernel_plan& k);
amount cost_of_task(const facts& known, const program_plan& plan, const kernel_plan& k);
bool is_shared(const facts& known, const program_plan& plan, const kernel_plan& k);

}  // namespace sheaf::inline v0_1::plan
