#include <sheaf/jit/plan/cases.hpp>

#include <algorithm>

#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// How many places an index has, where that is a constant few and nothing else depends on which; 0: it is another one.
std::int64_t places_of(graph& g, node_id idx, const std::vector<node_id>& bound) {
  if (!is_constant(g, g.arg(idx, 0)) || !is_constant(g, g.arg(idx, 1))) return 0;
  const bool decides =
      std::ranges::any_of(bound, [&](node_id other) { return other != idx && g.free[other].has(g.ordinal(idx)); });
  const std::int64_t count = g[g.arg(idx, 1)].attribute - g[g.arg(idx, 0)].attribute;
  return !decides && count >= 2 && count <= tuning::transposed::few ? count : 0;
}

// Is the index compared with a constant?
bool asks_which(const graph& g, node_id e, node_id idx) {
  return any_node(g, e, [&](node_id n) {
    if (g.kind(n) != op::equal && g.kind(n) != op::less && g.kind(n) != op::less_equal) return false;
    const node_id a = g.arg(n, 0), b = g.arg(n, 1);
    return (a == idx && is_constant(g, b)) || (b == idx && is_constant(g, a));
  });
}

class cases {
 public:
  cases(const context& c, node_id reduce) : g_(c.g), n_(reduce), bound_(bound_indices(g_, n_)) {}

  node_id operator()() {
    const bool plain = monoid_of(g_, n_) == monoid::sum && g_[n_].attribute == static_cast<std::int64_t>(monoid::sum);
    if (!plain || numerics::accumulated(g_.type(n_)) != g_.type(n_) || !is_small()) return no_node;
    for (const node_id idx : bound_) {
      const std::int64_t count = places_of(g_, idx, bound_);
      // Cases of a scatter go to places of their own: its walk is over them as well.
      if (count > 0 && uses(g_, g_.arg(n_, 1), idx) && is_scatter(g_, n_)) continue;
      if (count > 0 && (asks_which(g_, g_.arg(n_, 0), idx) || asks_which(g_, g_.arg(n_, 1), idx)))
        return written_out(idx, count);
    }
    return no_node;
  }

 private:
  // Each case has a copy of the term, and one around it would have copies of these.
  bool is_small() const {
    int nodes = 0;
    bool innermost = true;
    for (int k = 0; k < 2; ++k)
      for_each_node(g_, g_.arg(n_, k), [&](node_id n) {
        ++nodes;
        innermost = innermost && g_.kind(n) != op::reduce;
      });
    return innermost && nodes <= tuning::cases::most_nodes;
  }
  node_id written_out(node_id idx, std::int64_t count) {
    const node_id condition = g_.arg(n_, 1), first = g_.arg(idx, 0);
    const bool guards = uses(g_, condition, idx);
    node_id sum = number(g_, g_.type(n_), 0);
    for (std::int64_t k = 0; k < count; ++k) {
      replacement put(g_, {}, true);
      put.add(idx, make(g_, op::add, first, integer(g_, k)));
      node_id term = through(put(g_.arg(n_, 0)));
      if (guards) term = make(g_, op::select, put(condition), term, number(g_, g_.type(n_), 0));
      sum = make(g_, op::add, sum, term);
    }
    std::vector<node_id> rest = bound_;
    std::erase(rest, idx);
    if (rest.empty())
      return guards || is_true(g_, condition) ? sum : make(g_, op::select, condition, sum, number(g_, g_.type(n_), 0));
    return intern_reduce(g_, monoid::sum, g_.type(n_), sum, guards ? truth(g_, true) : condition, rest);
  }

  // Where a definition at the one place is an element of another tensor, that is read.
  node_id through(node_id term) {
    replacement put(g_);
    bool any = false;
    for_each_node(g_, term, [&](node_id n) {
      const node_id define = g_.kind(n) == op::load ? g_.arg(n, 0) : no_node;
      if (define == no_node || g_.kind(define) != op::define || !is_inside(g_, n)) return;
      replacement at(g_, {}, true);
      for (int d = 0; d < tensor_rank(g_, define); ++d) at.add(g_.arg(define, 1 + d), g_.arg(n, 1 + d));
      const node_id value = at(g_.arg(define, 0));
      if (g_.kind(value) != op::load || g_.type(value) != g_.type(n) || !is_inside(g_, value)) return;
      put.rename(n, value);
      any = true;
    });
    return any ? put(term) : term;
  }

  graph& g_;
  const node_id n_;
  const std::vector<node_id> bound_;
};

}  // namespace

node_id take_cases(const context& c, node_id n, const stage& s) {
  return s.where == place::check ? no_node : cases(c, n)();
}

}  // namespace sheaf::inline v0_1::plan
