// Pass `tables`: what calls of a program evaluate before its kernels run, as C tables for aot/runtime: extents,
// checks and their words, workspaces, and the comparisons that say which class serves a call.
// Shown by tests/aot/ahead.sh.
#pragma once
#include <string>
#include <vector>

#include <sheaf/aot/gpu_code.hpp>
#include <sheaf/aot/table_rows.hpp>

namespace sheaf::inline v0_1::aot {

// What the stack of a call must have room for.
struct call_sizes {
  int slots = 0, numbers = 1, places = 1, formulas = 1, costs = 1;
  int words = 1, launches = 1, told = 1;  // of codes for GPUs
  void include(const call_sizes& other);
};

struct program_tables {
  std::string text;  // C, which ends with `static const sk_program sk_program_NAME`
  call_sizes sizes;
};

// entries: by target, then code: the names of the kernels' functions.
program_tables tables_of(const planned_program& p, const std::vector<std::vector<std::string>>& entries);
program_tables tables_of(const planned_program& p, const std::vector<gpu_code>& codes);

// The launches of a program's codes, as tables whose rows of expressions are `rows`'.
std::string gpu_tables(const planned_program& p, const std::vector<gpu_code>& codes, const std::string& name,
                       expression_rows& rows, call_sizes& sizes);

// A C string literal.
std::string quoted(const std::string& words);

}  // namespace sheaf::inline v0_1::aot
