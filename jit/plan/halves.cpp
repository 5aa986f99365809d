#include <sheaf/jit/plan/halves.hpp>

#include <algorithm>

#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

class widening_halves {
 public:
  explicit widening_halves(graph& g) : g_(g) {}

  // An expression with what it computes of halves in f32, of that type itself.
  node_id operator()(node_id n) { return wide(n); }
  // A stage's value, with its own type.
  node_id of_result(node_id n) {
    return is_half(g_.type(n)) && g_.kind(n) != op::cast ? cast_to(g_, g_.type(n), wide(n)) : with_wide_parts(n);
  }
  bool failed() const { return failed_; }

 private:
  node_id wide(node_id n) {
    if (const auto done = made_.find(n); done != made_.end()) return done->second;
    const node_id made = is_half(g_.type(n)) ? of_half(n) : with_wide_parts(n);
    made_.emplace(n, made);
    return made;
  }
  node_id of_half(node_id n) {
    const op kind = g_.kind(n);
    if (kind == op::reduce) return reduction(n, element::f32);
    if (kind == op::cast) return cast_to(g_, element::f32, with_wide_parts(n));
    if (!is_elementwise(kind)) return cast_to(g_, element::f32, n);
    return of_wide_operands(n);
  }
  node_id of_wide_operands(node_id n) {
    node_id list[] = {no_node, no_node, no_node};
    for (int k = 0; k < g_[n].count; ++k) list[k] = wide(g_.arg(n, k));
    return make(g_, g_.kind(n), list[0], list[1], list[2]);
  }
  // Of another type: a cast to f32 is of what is held. What is compared is rounded, so it stays as it is.
  node_id with_wide_parts(node_id n) {
    const op kind = g_.kind(n);
    if (kind == op::reduce) return reduction(n, g_.type(n));
    const bool compares = g_[n].count == 2 && g_.type(n) == element::boolean && is_half(g_.type(g_.arg(n, 0)));
    if (!is_elementwise(kind) || compares || !has_halves(n)) return n;
    return kind == op::cast ? cast_to(g_, g_.type(n), wide(g_.arg(n, 0))) : of_wide_operands(n);
  }
  node_id reduction(node_id n, element type) {
    if (g_.kind(g_.arg(n, 0)) == op::tuple || !has_halves(n)) {
      failed_ = failed_ || is_half(g_.type(n));
      return n;
    }
    std::vector<node_id> list = arguments(g_, n, 0);
    list[0] = wide(list[0]);
    return g_.intern(op::reduce, type, g_[n].attribute, list.data(), static_cast<int>(list.size()));
  }
  bool has_halves(node_id n) const {
    return any_node(g_, n, [&](node_id e) { return is_half(g_.type(e)); });
  }

  graph& g_;
  std::unordered_map<node_id, node_id> made_;
  bool failed_ = false;
};

// Is a half rounded to become another one? Elements that are chosen, compared or stored as they are have no arithmetic.
bool is_arithmetic(const graph& g, node_id n) {
  if (!is_half(g.type(n)) || is_constant(g, n)) return false;
  if (g.kind(n) == op::reduce) return !is_extremum(g, n) && !row(monoid_of(g, n)).position;
  switch (g.kind(n)) {
    case op::cast:
    case op::select:
    case op::neg:
    case op::abs:
    case op::maximum:
    case op::minimum: return false;
    default: return is_elementwise(g.kind(n));
  }
}

}  // namespace

node_id with_terms_in_f32(graph& g, node_id reduce) {
  widening_halves wide(g);
  const node_id made = wide(reduce);
  return wide.failed() ? no_node : made;
}

bool take_halves(const context& c, stage& s) {
  graph& g = c.g;
  if (c.known.call().gpu || s.how != way::map) return false;
  if (!any_node(g, s.body, [&](node_id n) { return is_arithmetic(g, n); })) return false;
  widening_halves wide(g);
  const node_id made = wide.of_result(s.body);
  if (wide.failed() || made == s.body) return false;
  replace_in(g, s, s.body, made);
  return true;
}

}  // namespace sheaf::inline v0_1::plan
