// Pass `accumulators`: sums whose lanes are folded. Each lane adds some tens or hundreds of f32, with errors that
// cancel between lanes; what a result would show are the roundings of the last few additions and of a division by a
// count after them. So the last lanes are added in f64, and means and variances are divided there too. Lanes are f64
// from the first element on where that takes no time: squared differences of long rows, and elements that data names. A
// factor that is the same for all terms but needs a pass over them first stands after the sum. Shown by
// tests/jit/plan_rows.cpp.
#pragma once
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::plan {

// What lanes of a reduction hold: of those that this pass marks less than its type.
inline bool has_narrow_lanes(const graph& g, node_id reduce) {
  return (g[reduce].attribute & numerics::narrow_lanes) != 0;
}
inline element lane_type(const graph& g, node_id n) {
  return g.kind(n) == op::reduce && has_narrow_lanes(g, n) ? element::f32 : g.type(n);
}
inline element in_lanes(const graph& g, node_id reduce, element type) {
  return numerics::in_lanes(type, g[reduce].attribute);
}

// Output: the same stages, with sums of f32 that run in lanes of their own in f64, marked where lanes stay f32.
void widen_accumulators(graph& g, const facts& known, program_plan& plan);

}  // namespace sheaf::inline v0_1::plan
