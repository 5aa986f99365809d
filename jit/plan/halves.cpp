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

bool computes_halves(const graph& g, node_id e) {
  return any_node(g, e, [&](node_id n) {
    return is_half(g.type(n)) && is_elementwise(g.kind(n)) && g.kind(n) != op::cast && !is_constant(g, n);
  });
}

// Does no load of the terms have all that two others have?
bool shares_terms(const graph& g, node_id reduce) {
  const std::vector<node_id> loads = loads_in(g, g.arg(reduce, 0));
  const auto pairs = [&](node_id a, node_id b) {
    if (!is_half(g.type(a)) || g.free[a].within(g.free[b]) || g.free[b].within(g.free[a])) return false;
    index_set both = g.free[a];
    both |= g.free[b];
    return std::ranges::none_of(loads, [&](node_id c) { return both.within(g.free[c]); });
  };
  return std::ranges::any_of(loads, [&](node_id a) {
    return std::ranges::any_of(loads, [&](node_id b) { return pairs(a, b); });
  });
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
  std::vector<node_id> list = reductions_in(g, s.body);
  std::ranges::reverse(list);  // with those inside
  for (const node_id n : list) {
    if (!computes_halves(g, g.arg(n, 0)) || !shares_terms(g, n)) continue;
    const node_id made = with_terms_in_f32(g, n);
    if (made == no_node || made == n) continue;
    replace_in(g, s, n, cast_to(g, g.type(n), made));
    return true;
  }
  return false;
}

}  // namespace sheaf::inline v0_1::plan
