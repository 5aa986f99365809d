// What runs in parallel, for every form of stage: which loop's iterations threads take, and how many at a time. And of
// kernels: how many tasks they have, what one costs, and whether threads share them at all. Shown by
// tests/jit/plan.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Input: a stage's form, loops, vector and lanes. Output: `parallel` and `task`, with that loop outermost unless it is
// the stage's own; on a GPU also fewer lanes, where wider ones are too few tasks.
void share_tasks(graph& g, const facts& known, stage& s);

// Of a map on a GPU whose last loop is within the lanes: iterations of it that are a task, which a thread takes.
std::int64_t columns_of_thread(const graph& g, const stage& s);

// Tasks are blocks of rows that several stages walk.
void share_blocks(stage& s, const row_blocks& rows);

// The pass `task sizes`: of kernels whose tiles are chosen.
void size_tasks(const graph& g, const facts& known, program_plan& plan);

// Where a loop has too few tasks, and lanes are so many that tasks take parts of them.
std::vector<shapes::at_least> parts_of_lanes(const facts& known, const stage& s, const amount& tasks);

// Of a kernel.
amount tasks_in(const facts& known, const kernel_plan& k);
amount cost_of_task(const facts& known, const program_plan& plan, const kernel_plan& k);
bool is_shared(const facts& known, const program_plan& plan, const kernel_plan& k);

// Tasks take rows of a cache tile, each of one batch.
void share_cache_tile(kernel_plan& k, stage& s);

}  // namespace sheaf::inline v0_1::plan
