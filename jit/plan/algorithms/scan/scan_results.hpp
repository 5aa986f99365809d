// Step of rule `scan`, on a GPU: a map of a running result is the scan itself, which stores the map's value of each
// result. So running means, and gradients of running folds, are one pass. Shown by tests/cuda/scan_results.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/sliding.hpp>

namespace sheaf::inline v0_1::plan {

// Of a running result: what is folded, which for a function of it is another type than what is stored.
inline element folded_type(const graph& g, const stage& s) {
  return g.type(s.scan().folded != no_node ? s.scan().folded : s.define);
}

// May a map whose body holds this running result be its scan? The result is at the map's own place, and nothing else of
// the body is folded.
bool is_function_of_scan(const context& c, const stage& s, const sliding& r);
// Of a scan that is made: what it stores of each result, as `body` has it; and that this is read as well.
void name_function(graph& g, scan_form& f, const sliding& r, node_id body);
void read_function(graph& g, stage& s);

// Where all that a body needs of a state's value is that rounded to another type: the cast; else n.
node_id as_used(graph& g, node_id body, node_id n);

}  // namespace sheaf::inline v0_1::plan
