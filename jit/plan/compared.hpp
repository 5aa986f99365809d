// Sums on both sides of a comparison of floating numbers, as ties of an extremum have them: computed in loops of other
// lanes they would be other bits, and nothing would tie. Each is a stage, which both sides read. Of values of pairs,
// which would be as many as two extents multiplied, both sides sum the terms one by one: that has the same bits
// everywhere. Shown by tests/jit/ties.cpp and tests/jit/pair_tiles.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>
#include <sheaf/jit/plan/walks.hpp>

namespace sheaf::inline v0_1::plan {

void store_compared(graph& g, const facts& known, std::vector<stage>& stages);

// A value that two kernels compute to the same bits: what memory holds, or an integer.
inline bool is_exact(const graph& g, node_id value) {
  return !is_floating(g.type(value)) || g.kind(without_cast(g, value)) == op::load;
}

// Is a number compared with another for ties somewhere? Then a value and its extremum must have the same bits, wherever
// they are computed. A comparison with a constant, as with infinity in a logsumexp, asks for no ties.
bool compares_numbers(const graph& g);

}  // namespace sheaf::inline v0_1::plan
