#include <sheaf/jit/plan/algorithms/moments/shifted_moments.hpp>

#include <limits>

#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

node_id moved_squares(graph& g, node_id sum, node_id by, node_id count) {
  return make(g, op::add, sum, cast_to(g, g.type(sum), make(g, op::mul, count, make(g, op::mul, by, by))));
}

node_id moved_powers(graph& g, node_id sum, node_id by, node_id nothing) {
  return make(g, op::select, make(g, op::equal, sum, number_like(g, sum, 0)), nothing,
              make(g, op::mul, sum, make(g, op::exp, by)));
}

node_id finite_shift(graph& g, node_id maximum) {
  const element type = g.type(maximum);
  const double lowest =
      type == element::f64 ? std::numeric_limits<double>::lowest() : std::numeric_limits<float>::lowest();
  return make(g, op::maximum, maximum, number(g, type, lowest));
}

bool folds(graph& g, const stage& made, node_id cut, node_id value) {
  const node_id flat = made.sum_of_sums != no_node ? made.flat : made.body;
  return is_true(g, g.arg(flat, 1)) &&
         without_cast(g, with(g, value, cut, made.rows.part, proofs::kept)) == without_cast(g, g.arg(flat, 0));
}

}  // namespace sheaf::inline v0_1::plan
