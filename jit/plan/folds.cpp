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
    std::vector<node_id> sums, means;
    for_each_node(g_, s_.body, [&](node_id n) {
      if (is_sum(g_, n, element::f32) && folds(n)) sums.push_back(n);  // inner ones first
      if (is_mean(n)) means.push_back(n);
    });
    for (const node_id n : sums) put_.add(n, cast_to(g_, element::f32, wide(n)));
    for (const node_id n : means) {
      const node_id sum = put_(g_.arg(n, 0));
      if (g_.kind(sum) != op::cast || !is_sum(g_, g_.arg(sum, 0), element::f64)) continue;
      const node_id count = cast_to(g_, element::f64, g_.arg(g_.arg(n, 1), 0));
      put_.add(n, cast_to(g_, element::f32, make(g_, op::div, g_.arg(sum, 0), count)));
    }
    s_.body = put_(s_.body);
  }

 private:
  // Not in the lanes of the stage or of another reduction, and with a value to fold for each lane.
  bool folds(node_id n) const {
    if (is_constant(g_, g_.arg(n, 0)) || g_.free[n].meets(bound_)) return false;
    return s_.vector == no_node || !g_.free[n].has(g_.ordinal(s_.vector));
  }
  bool is_mean(node_id n) const {
    if (g_.kind(n) != op::div || g_.type(n) != element::f32 || g_.kind(g_.arg(n, 1)) != op::cast) return false;
    return !is_floating(g_.type(g_.arg(g_.arg(n, 1), 0)));
  }
  node_id wide(node_id n) {
    std::vector<node_id> list{cast_to(g_, element::f64, put_(g_.arg(n, 0))), put_(g_.arg(n, 1))};
    for (const node_id idx : bound_indices(g_, n)) list.push_back(put_(idx));
    return g_.intern(op::reduce, element::f64, g_[n].attribute | narrow_lanes, list.data(), static_cast<int>(list.size()));
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
