// A rule that the user gives, `custom y by x(i) = e`, for a cotangent of y. What multiplies or divides the cotangent is
// evaluated only where the cotangent may differ from zero: elsewhere 0 * e would be NaN for an infinite e, and would
// read what e subscripts.
// Input: the rule, and the cotangent as an expression and as the definition of it. Output: what x gets, a definition.
// Shown by tests/gradient/custom.cpp.
#pragma once
#include <sheaf/dsl/passes/guards.hpp>

namespace sheaf::inline v0_1 {

class rule_application {
 public:
  // dy: the body of `cotangent`, in the indices of the rule's definition.
  constexpr rule_application(graph& g, const gradient_rule& r, node_id cotangent, node_id dy)
      : g_(g), placeholder_(r.cotangent), cotangent_(cotangent), where_(guards::support(g, dy)) {
    made_.resize(g.size(), {});
  }

  constexpr node_id operator()(node_id contribution) { return rebuilt(contribution).value; }

 private:
  // `shape` is the value with each of the cotangent's elements under its condition: support() of it says where the
  // value may differ from zero.
  struct pair {
    node_id value = no_node, shape = no_node;
  };

  constexpr pair rebuilt(node_id n) {
    if (n == placeholder_) return {cotangent_, cotangent_};
    if (n < placeholder_) return {n, n};
    if (made_[n].value == no_node) {
      const pair made = rebuild(n);
      made_[n] = made;
    }
    return made_[n];
  }

  constexpr pair rebuild(node_id n) {
    flat<node_id> values, shapes;
    bool changed = false;
    for (int k = 0; k < g_[n].count; ++k) {
      const node_id a = g_.arg(n, k);
      const pair p = rebuilt(a);
      values.push(p.value);
      shapes.push(p.shape);
      changed = changed || p.value != a;
    }
    if (!changed) return {n, n};
    switch (g_.kind(n)) {
      case op::load: return load_of(n, values);
      case op::mul:
      case op::div: return product(n, values, shapes);
      case op::add:
      case op::sub:
      case op::neg:
      case op::cast:
      case op::select: return {like(n, values), like(n, shapes)};
      case op::reduce:
        if (monoid_of(g_, n) != monoid::sum) return plain(n, values);
        return {like(n, values), like(n, shapes)};
      default: return plain(n, values);
    }
  }
  constexpr pair plain(node_id n, const flat<node_id>& values) {
    const node_id made = like(n, values);
    return {made, made};
  }
  constexpr pair load_of(node_id n, const flat<node_id>& values) {
    const node_id made = like(n, values);
    if (g_.arg(made, 0) != cotangent_) return {made, made};
    flat<node_id> from, to;
    for (int d = 1; d < values.size(); ++d) {
      if (g_.arg(cotangent_, d) == values[d]) continue;
      from.push(g_.arg(cotangent_, d));
      to.push(values[d]);
    }
    const node_id where = from.empty() ? where_ : substitution(g_, from.data(), to.data(), from.size())(where_);
    return {made, guards::guarded(g_, where, made)};
  }
  // Only a dividend is a factor.
  constexpr pair product(node_id n, const flat<node_id>& values, const flat<node_id>& shapes) {
    node_id where = truth(g_, true);
    for (int k = 0; k < (g_.kind(n) == op::div ? 1 : 2); ++k)
      if (values[k] != g_.arg(n, k)) where = conjunction(g_, where, guards::support(g_, shapes[k]));
    const node_id made = guards::guarded(g_, where, like(n, values));
    return {made, made};
  }

  // n of other arguments.
  constexpr node_id like(node_id n, const flat<node_id>& list) {
    const node same = g_[n];
    if (same.kind == op::cast) return cast_to(g_, same.type, list[0]);
    if (is_elementwise(same.kind))
      return make(g_, same.kind, list[0], list.size() > 1 ? list[1] : no_node, list.size() > 2 ? list[2] : no_node);
    if (same.kind == op::reduce)
      return reduce(g_, static_cast<monoid>(same.attribute), list[0], list[1], list.data() + 2, list.size() - 2);
    return g_.intern(same.kind, same.type, same.attribute, list.data(), list.size());
  }

  graph& g_;
  node_id placeholder_, cotangent_;
  node_id where_;     // where the cotangent may differ from zero, in its own indices
  flat<pair> made_;  // by node
};

}  // namespace sheaf::inline v0_1
