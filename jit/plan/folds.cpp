#include <sheaf/jit/plan/folds.hpp>

#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::plan {

namespace {

bool is_sum(const graph& g, node_id n, element type) {
  return g.kind(n) == op::reduce && monoid_of(g, n) == monoid::sum && g.type(n) == type;
}

class widening {
 public:
  widening(graph& g, stage& s) : g_(g), s_(s), put_(g) {}

  void operator()() {
    for_each_node(g_, s_.body, [&](node_id n) {
      if (g_.kind(n) != op::reduce) return;
      for (const node_id idx : bound_indices(g_, n)) bound_.insert(g_.ordinal(idx));
    });
    std::vector<node_id> sums, scaled;
    for_each_node(g_, s_.body, [&](node_id n) {
      if (is_sum(g_, n, element::f32) && folds(n)) sums.push_back(n);  // inner ones first
      if (is_scaled(n)) scaled.push_back(n);
    });
    for (const node_id n : sums) put_.add(n, cast_to(g_, element::f32, wide(n)));
    for (const node_id n : scaled) {
      const node_id sum = put_(g_.arg(n, 0));
      if (g_.kind(sum) != op::cast || !is_sum(g_, g_.arg(sum, 0), element::f64)) continue;
      const node_id by = g_.arg(n, 1);
      const bool counts = g_.kind(by) == op::cast && !is_floating(g_.type(g_.arg(by, 0)));
      const node_id scale = cast_to(g_, element::f64, counts ? g_.arg(by, 0) : by);
      put_.add(n, cast_to(g_, element::f32, make(g_, g_.kind(n), g_.arg(sum, 0), scale)));
    }
    s_.body = put_(s_.body);
  }

 private:
  // Not in the lanes of the stage or of another reduction, and with a value to fold for each lane.
  bool folds(node_id n) const {
    if (is_constant(g_, g_.arg(n, 0)) || g_.free[n].meets(bound_)) return false;
    return s_.vector == no_node || !g_.free[n].has(g_.ordinal(s_.vector));
  }
  // A mean or variance: what may be a sum, times or over what is the same for all results, is rounded once.
  bool is_scaled(node_id n) const {
    if ((g_.kind(n) != op::div && g_.kind(n) != op::mul) || g_.type(n) != element::f32) return false;
    const node_id by = g_.arg(n, 1);
    if (g_.kind(n) == op::div && g_.kind(by) == op::cast && !is_floating(g_.type(g_.arg(by, 0)))) return true;
    return g_.free[by].empty() && !holds(g_, by, op::load) && !holds(g_, by, op::reduce);
  }
  node_id wide(node_id n) {
    std::vector<node_id> list{cast_to(g_, element::f64, put_(g_.arg(n, 0))), put_(g_.arg(n, 1))};
    for (const node_id idx : bound_indices(g_, n)) list.push_back(put_(idx));
    return g_.intern(op::reduce, element::f64, g_[n].attribute | narrow_lanes, list.data(),
                     static_cast<int>(list.size()));
  }

  graph& g_;
  stage& s_;
  replacement put_;
  index_set bound_;
};

}  // namespace

void widen_folds(graph& g, program_plan& plan) {
  for (stage& s : plan.stages) {
    const bool whole = g.kind(s.body) == op::reduce && s.rows.whole != no_node;  // a partial result keeps its form
    if (s.how == way::map && !whole) widening(g, s)();
  }
}

}  // namespace sheaf::plan
