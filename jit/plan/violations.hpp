// Subscripts of numbers and extents that this call puts outside, and subscripts of data behind conditions: whether one
// outside is an error depends on whether its load is evaluated, behind which conditions and in which loops.
// Input: a body and its indices. Output: where each such load that it evaluates stands.
// Shown by tests/text/guarded.cpp.
#pragma once
#include <span>
#include <vector>

#include <sheaf/jit/plan/shape_facts.hpp>
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Has the index no value for this call's extents? Then nothing within its loop is evaluated.
bool is_empty(const facts& known, node_id idx);
// Is that not asked when the plan is made?
bool is_open(const facts& known, node_id idx);
// A condition: it has a value.
node_id has_elements(graph& g, node_id idx);
// A condition, and that those of the loops have elements of which that is not asked.
node_id when_run(graph& g, const facts& known, std::span<const node_id> loops, node_id when);

// Loads to be found where they are evaluated, each with the subscripts that are asked about.
struct asked_loads {
  graph& g;
  const facts& known;
  std::unordered_map<node_id, std::vector<int>> dimensions = {};

  bool has(node_id load) const { return dimensions.contains(load); }
};
// Those with a subscript that is outside whatever the data.
asked_loads outside_loads(graph& g, const facts& known);

// A subscript of a load that is evaluated for the values of `loops`, outermost first, for which `where` holds.
struct violation {
  node_id load = no_node;
  int dimension = 0;
  std::vector<node_id> loops;
  node_id where = no_node;
  node_id least = no_node, most = no_node;  // the subscripts of a slice that is not among the loops
};

// The parts of a reduction's condition that are asked before the range of loop k, of its loops, outermost first: a part
// guards the ranges of the loops that it does not wait for.
std::vector<node_id> demanded_before(const graph& g, node_id reduce, std::span<const node_id> loops, std::size_t k);

// Appends those of what is evaluated for the values of `indices`.
void find_violations(const asked_loads& asked, node_id body, std::span<const node_id> indices,
                     std::vector<violation>& found);

}  // namespace sheaf::inline v0_1::plan
