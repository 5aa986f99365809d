#include <sheaf/jit/plan/sums_apart.hpp>

#include <algorithm>

#include <sheaf/jit/plan/factors.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

class taken_apart {
 public:
  taken_apart(graph& g, node_id n) : g_(g), n_(n), bound_(set_of(g, bound_indices(g, n))) {}

  node_id operator()() {
    collect(g_.arg(n_, 0), no_node);
    if (std::ranges::none_of(terms_, [&](const term& t) { return holds_data(t.by); })) return no_node;
    node_id all = no_node;
    for (const term& t : terms_) {
      const node_id sum = intern_reduce(g_, monoid::sum, g_.type(n_), t.of, g_.arg(n_, 1), bound_indices(g_, n_));
      const node_id part = t.by == no_node ? sum : make(g_, op::mul, t.by, sum);
      all = all == no_node ? part : make(g_, op::add, all, part);
    }
    return make(g_, op::select, has_terms(), all, number_like(g_, n_, 0));
  }

 private:
  struct term {
    node_id of = no_node, by = no_node;  // by: of no_node once
  };

  bool outside(node_id e) const { return !g_.free[e].meets(bound_); }
  // Over nothing a sum is 0, whatever it is multiplied by. Of closed ranges the number of terms is known.
  node_id has_terms() {
    node_id all = truth(g_, true);
    for (const node_id idx : bound_indices(g_, n_))
      if (!is_closed(g_, idx)) all = conjunction(g_, all, make(g_, op::less, g_.arg(idx, 0), g_.arg(idx, 1)));
    return all;
  }
  bool holds_data(node_id by) const { return by != no_node && (holds(g_, by, op::load) || holds(g_, by, op::reduce)); }
  node_id times(node_id by, node_id more) { return by == no_node ? more : make(g_, op::mul, by, more); }

  // Multiples of differences from what does not depend on the indices, and sums of those.
  bool is_deviation(node_id e) const {
    const op kind = g_.kind(e);
    if (kind == op::neg) return is_deviation(g_.arg(e, 0));
    if (kind == op::mul && outside(g_.arg(e, 0))) return is_deviation(g_.arg(e, 1));
    if ((kind == op::mul || kind == op::div) && outside(g_.arg(e, 1))) return is_deviation(g_.arg(e, 0));
    if (kind == op::sub && outside(g_.arg(e, 1)) && !outside(g_.arg(e, 0))) return true;
    return (kind == op::add || kind == op::sub) && is_deviation(g_.arg(e, 0)) && is_deviation(g_.arg(e, 1));
  }

  void collect(node_id e, node_id by) {
    const op kind = g_.kind(e);
    if (kind == op::div && outside(g_.arg(e, 1)) && !outside(g_.arg(e, 0)))
      return collect(g_.arg(e, 0), times(by, make(g_, op::div, number_like(g_, e, 1), g_.arg(e, 1))));
    if ((kind == op::add || kind == op::sub) && !outside(g_.arg(e, 0)) && !outside(g_.arg(e, 1)) &&
        (is_deviation(g_.arg(e, 0)) || is_deviation(g_.arg(e, 1)))) {
      collect(g_.arg(e, 0), by);
      return collect(g_.arg(e, 1), kind == op::add ? by : times(by, number_like(g_, e, -1)));
    }
    if (kind != op::mul && kind != op::neg) return put(e, by);
    std::vector<node_id> inner;
    for (const node_id f : factors_of(g_, e)) {
      if (outside(f))
        by = times(by, f);
      else
        inner.push_back(f);
    }
    if (inner.size() == 1) return collect(inner.front(), by);
    put(product_of(g_, inner, e), by);
  }
  void put(node_id e, node_id by) {
    const auto same = std::ranges::find(terms_, e, &term::of);
    if (same == terms_.end()) return terms_.push_back({e, by});
    const auto one = [&](node_id f) { return f == no_node ? number_like(g_, e, 1) : f; };
    same->by = make(g_, op::add, one(same->by), one(by));
  }

  graph& g_;
  const node_id n_;
  const index_set bound_;
  std::vector<term> terms_;
};

// No range depends on another index of the sum.
bool ranges_stand_apart(const graph& g, node_id n) {
  const std::vector<node_id> list = bound_indices(g, n);
  const index_set bound = set_of(g, list);
  return std::ranges::none_of(
      list, [&](node_id idx) { return g.free[g.arg(idx, 0)].meets(bound) || g.free[g.arg(idx, 1)].meets(bound); });
}

}  // namespace

node_id sums_apart(const context& c, node_id n) {
  const auto& [g, known, before] = c;
  if (!known.for_groups() || monoid_of(g, n) != monoid::sum || !is_floating(g.type(n)) || !has_closed_ranges(g, n) ||
      g.type(g.arg(n, 0)) != g.type(n) || !is_true(g, g.arg(n, 1)) || !ranges_stand_apart(g, n) ||
      known.trips(set_of(g, bound_indices(g, n))) < 1)
    return no_node;
  return taken_apart(g, n)();
}

}  // namespace sheaf::inline v0_1::plan
