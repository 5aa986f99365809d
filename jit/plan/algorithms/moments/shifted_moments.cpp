#include <sheaf/jit/plan/algorithms/moments/shifted_moments.hpp>

#include <limits>

#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

node_id about_another(graph& g, node_id part, node_id from, node_id to, node_id count, node_id nothing) {
  const node_id shift = make(g, op::sub, from, to);
  if (count != no_node)
    return make(g, op::add, part, cast_to(g, g.type(part), make(g, op::mul, count, make(g, op::mul, shift, shift))));
  return make(g, op::select, make(g, op::equal, part, number_like(g, part, 0)), nothing,
              make(g, op::mul, part, make(g, op::exp, shift)));
}

node_id finite_shift(graph& g, node_id maximum) {
  const element type = g.type(maximum);
  const double lowest =
      type == element::f64 ? std::numeric_limits<double>::lowest() : std::numeric_limits<float>::lowest();
  return make(g, op::maximum, maximum, number(g, type, lowest));
}

bool folds(graph& g, const stage& made, node_id cut, node_id value) {
  const node_id flat = made.sum_of_sums != no_node ? made.flat : made.body;
  replacement put(g, proofs::kept);
  put.add(cut, made.rows.part);
  return is_true(g, g.arg(flat, 1)) && without_cast(g, put(value)) == without_cast(g, g.arg(flat, 0));
}

}  // namespace sheaf::inline v0_1::plan
