#include <sheaf/jit/plan/mixed_precision.hpp>

#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

bool is_sum(const graph& g, node_id n, element type) {
  return g.kind(n) == op::reduce && monoid_of(g, n) == monoid::sum && g.type(n) == type;
}

class widening {
 public:
  widening(graph& g, const facts& known, stage& s, node_id written)
      : g_(g), known_(known), s_(s), written_(written), put_(g) {}

  void operator()() {
    for_each_node(g_, s_.body, [&](node_id n) {
      if (g_.kind(n) != op::reduce) return;
      for (const node_id idx : bound_indices(g_, n))
        if (s_.how != way::partial || idx != s_.rows.part) bound_.insert(g_.ordinal(idx));
    });
    // Inner ones first, sums and what scales them by turns: what holds one is rebuilt after it.
    std::vector<node_id> list;
    for_each_node(g_, s_.body, [&](node_id n) {
      if (is_scaled(n) || (is_sum(g_, n, element::f32) && folds(n))) list.push_back(n);
    });
    for (const node_id n : list) {
      const node_id made = g_.kind(n) == op::reduce ? widened(n) : scaled(n);
      if (made != no_node) put_.add(n, made);
    }
    s_.body = put_(s_.body);
  }

 private:
  // Not in the lanes of the stage or of another reduction, and with a value to fold for each lane.
  bool folds(node_id n) const {
    if (is_constant(g_, g_.arg(n, 0)) || g_.free[n].meets(bound_) || is_folded_in_order(g_, n)) return false;
    if (n == s_.body && s_.how == way::partial) return false;  // it keeps its form
    return s_.vector == no_node || !g_.free[n].has(g_.ordinal(s_.vector));
  }
  // A mean or variance: what may be a sum, times or over what is the same for all results, is rounded once. A cast of
  // the program's own rounds where it stands.
  bool is_scaled(node_id n) const {
    if ((g_.kind(n) != op::div && g_.kind(n) != op::mul) || g_.type(n) != element::f32) return false;
    if (g_.kind(g_.arg(n, 0)) == op::cast && g_.arg(n, 0) < written_) return false;
    const node_id by = g_.arg(n, 1);
    if (g_.kind(n) == op::div && g_.kind(by) == op::cast && !is_floating(g_.type(g_.arg(by, 0)))) return true;
    return g_.free[by].empty() && is_formula(g_, by);
  }
  node_id scaled(node_id n) {
    const node_id sum = put_(g_.arg(n, 0));
    if (g_.kind(sum) != op::cast || !is_sum(g_, g_.arg(sum, 0), element::f64)) return no_node;
    const node_id by = g_.arg(n, 1);
    const bool counts = g_.kind(by) == op::cast && !is_floating(g_.type(g_.arg(by, 0)));
    const node_id scale = cast_to(g_, element::f64, counts ? g_.arg(by, 0) : by);
    return cast_to(g_, element::f32, make(g_, g_.kind(n), g_.arg(sum, 0), scale));
  }

  // sum(j, a * c), where c needs another pass over the same elements first, is c * sum(j, a), which need not wait for
  // it. Not of no elements: c may be infinite. Nor where all results have one sum: it would stand before the loop that
  // tasks share.
  node_id widened(node_id n) {
    const node_id body = g_.arg(n, 0), idx = g_.arg(n, 2);
    const auto low = known_.value(g_.arg(idx, 0)), high = known_.value(g_.arg(idx, 1));
    const bool asked = low && high && !low->is_open() && !high->is_open();
    const bool some = g_[n].count == 3 && asked && low->certain() < *high && is_true(g_, g_.arg(n, 1));
    for (int k = 0; some && g_.kind(body) == op::mul && k < 2; ++k) {
      const node_id c = g_.arg(body, k);
      if (g_.free[c].has(g_.ordinal(idx)) || !waits_for_row(c, idx)) continue;
      const node_id sum = wide(n, g_.arg(body, 1 - k));
      if (g_.free[sum].empty() && !s_.loops.empty()) continue;
      return cast_to(g_, element::f32, make(g_, op::mul, sum, cast_to(g_, element::f64, put_(c))));
    }
    return cast_to(g_, element::f32, wide(n, body));
  }
  bool waits_for_row(node_id c, node_id idx) const {
    return any_node(g_, c, [&](node_id n) {
      return g_.kind(n) == op::reduce && g_[n].count == 3 && same_range(g_, g_.arg(n, 2), idx);
    });
  }

  node_id wide(node_id n, node_id summed) {
    const node_id body = put_(summed);
    // A variance: its terms have one sign, so what lanes round does not cancel.
    const bool square = squared_difference(g_, body) != no_node && is_long(n);
    const bool all = may_be_all() && (square || gathers(body));
    std::vector<node_id> list{all && square ? squared(body) : cast_to(g_, element::f64, body), put_(g_.arg(n, 1))};
    for (const node_id idx : bound_indices(g_, n)) list.push_back(put_(idx));
    return g_.intern(op::reduce, element::f64, g_[n].attribute | (all ? 0 : numerics::narrow_lanes), list.data(),
                     static_cast<int>(list.size()));
  }
  // Many GPUs have little of f64; what must have the processor's bits has them.
  bool may_be_all() const { return !known_.for_groups(); }
  bool is_long(node_id n) const { return known_.bits().trips(set_of(g_, bound_indices(g_, n))) >= numerics::long_row; }
  node_id squared(node_id n) {
    const node_id apart = g_.arg(n, 0);
    const node_id wider =
        make(g_, op::sub, cast_to(g_, element::f64, g_.arg(apart, 0)), cast_to(g_, element::f64, g_.arg(apart, 1)));
    return make(g_, op::mul, wider, wider);
  }
  // Elements that data names one by one: a conversion costs little beside them. Or a range of data, which may be as
  // long as the tensor: a lane of f32 would show the roundings of so many.
  bool gathers(node_id n) const {
    return any_node(g_, n, [&](node_id q) {
      return g_.kind(q) == op::load && g_[q].count > 1 && data_names(g_, q, g_[q].count - 2);
    });
  }

  graph& g_;
  const facts& known_;
  stage& s_;
  node_id written_;
  replacement put_;
  index_set bound_;
};

}  // namespace

void widen_accumulators(graph& g, const facts& known, program_plan& plan) {
  for (stage& s : plan.stages) {
    const bool whole = g.kind(s.body) == op::reduce && s.rows.whole != no_node;  // a partial result keeps its form
    if ((s.how == way::map && !whole) || s.how == way::partial) widening(g, known, s, plan.written)();
  }
}

}  // namespace sheaf::inline v0_1::plan
