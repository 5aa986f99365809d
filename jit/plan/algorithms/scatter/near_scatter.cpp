#include <sheaf/jit/plan/algorithms/scatter/near_scatter.hpp>

#include <algorithm>
#include <optional>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/algorithms/stencil/small_windows.hpp>
#include <sheaf/jit/plan/difference.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// row == slope * along + rest + offset, with the offset, which data says, in [low, high).
struct target {
  node_id condition = no_node, row = no_node, along = no_node, start = no_node, offset = no_node;
  std::int64_t slope = 0, low = 0, high = 0;
};

class near_scatter {
 public:
  near_scatter(const context& c, const stage& s, node_id n)
      : c(c), g(c.g), s(s), n(n), indices(bound_indices(g, n)), bound(set_of(g, indices)) {
    flat<node_id> list;
    deltas::conjuncts(g, g.arg(n, 1), list);
    conditions.assign(list.begin(), list.end());
  }

  // no_node: it is none.
  node_id operator()() {
    if (monoid_of(g, n) != monoid::sum || !has_closed_ranges(g, n)) return no_node;
    double asked = 1;
    std::int64_t places = 1;
    for (const node_id e : conditions)
      if (target t = target_of(e); t.row != no_node) {
        const std::int64_t each = (t.high - t.low + t.slope - 1) / t.slope;
        if (each > tuning::stencil::most_points) return no_node;
        asked *= static_cast<double>(each);
        if (asked > tuning::stencil::most_terms) return no_node;
        places *= t.high - t.low;
        targets.push_back(t);
      }
    if (targets.empty() || places > INT8_MAX || !are_apart() || !split()) return no_node;
    return gathered();
  }

 private:
  bool is_data(node_id e) const { return holds(g, e, op::reduce) || holds(g, e, op::load); }
  bool is_row(node_id e) const {
    if (g.kind(e) != op::index || bound.has(g.ordinal(e)) || !g.free[n].has(g.ordinal(e))) return false;
    return std::ranges::none_of(indices, [&](node_id idx) { return uses(g, idx, e); });
  }

  target target_of(node_id e) {
    for (int k = 0; g.kind(e) == op::equal && k < 2; ++k) {
      if (!is_row(g.arg(e, k)) || uses(g, g.arg(e, 1 - k), g.arg(e, k))) continue;
      target t = parts_of(g.arg(e, 1 - k));
      t.condition = e, t.row = g.arg(e, k);
      if (t.offset != no_node && (t.along != no_node || find_start(t)) && find_bounds(t)) return t;
    }
    return {};
  }
  target parts_of(node_id e) {
    linear sum;
    collect(g, e, 1, sum);
    target t{.start = integer(g, sum.constant), .offset = integer(g, 0)};
    if (sum.wrapped) return {};
    for (const linear::term& each : sum.terms) {
      if (each.factor == 0) continue;
      const bool data = is_data(each.node);
      if (!data && g.free[each.node].meets(bound)) {
        if (g.kind(each.node) != op::index || each.factor < 1 || t.along != no_node) return {};
        t.along = each.node, t.slope = each.factor;
      }
      node_id& part = data ? t.offset : t.start;
      part = make(g, op::add, part, make(g, op::mul, each.node, integer(g, each.factor)));
    }
    return g.free[t.offset].meets(bound) ? t : target{};
  }

  // The numbers among the arms of a bound, less what is beside the offset.
  void tighten(node_id e, op arms, node_id beside, std::int64_t more, std::optional<std::int64_t>& end) {
    if (g.kind(e) == arms) {
      for (int k = 0; k < 2; ++k) tighten(g.arg(e, k), arms, beside, more, end);
    } else if (const node_id rest = difference(g, e, beside); rest != no_node && is_constant(g, rest)) {
      const std::int64_t at = g[rest].attribute + more;
      end = !end ? at : arms == op::maximum ? std::max(*end, at) : std::min(*end, at);
    }
  }
  // What stands beside the offset; no_node: it does not stand there.
  node_id beside(node_id e, node_id offset) {
    const node_id rest = g.type(e) == element::i64 && is_data(e) ? difference(g, e, offset) : no_node;
    return rest == no_node || is_data(rest) ? no_node : rest;
  }
  bool is_inequality(node_id e) const { return g.kind(e) == op::less || g.kind(e) == op::less_equal; }

  // An offset that is a place of a range which moves: it is counted from where that begins.
  bool find_start(target& t) {
    for (const node_id e : conditions) {
      if (!is_inequality(e) || g.arg(e, 1) != t.offset) continue;
      std::vector<node_id> lows;
      arms(g, g.arg(e, 0), op::maximum, lows);
      for (const node_id low : lows)
        for (const node_id idx : indices)
          if (begins(t, low, idx)) return true;
    }
    return false;
  }
  bool begins(target& t, node_id low, node_id idx) {
    const line l = split_affine(g, low, idx);
    if (is_data(low) || !l.affine || l.slope < 1 || g.free[l.rest].meets(bound)) return false;
    t.along = idx, t.slope = l.slope;
    t.start = make(g, op::add, t.start, low), t.offset = make(g, op::sub, t.offset, low);
    return true;
  }
  bool find_bounds(target& t) {
    std::optional<std::int64_t> low, high;
    for (const node_id e : conditions) {
      if (!is_inequality(e)) continue;
      const std::int64_t strict = g.kind(e) == op::less ? 1 : 0;
      if (const node_id rest = beside(g.arg(e, 1), t.offset); rest != no_node)
        tighten(g.arg(e, 0), op::maximum, rest, strict, low);
      if (const node_id rest = beside(g.arg(e, 0), t.offset); rest != no_node)
        tighten(g.arg(e, 1), op::minimum, rest, 1 - strict, high);
    }
    if (!low || !high || *high <= *low || *high - *low > INT8_MAX) return false;
    t.low = *low, t.high = *high;
    return true;
  }

  // Each along an index of its own, to a row of its own.
  bool are_apart() const {
    for (std::size_t a = 0; a < targets.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if (targets[a].along == targets[b].along || targets[a].row == targets[b].row) return false;
    return true;
  }

  // By data that says nothing of a place near by.
  bool looks_for_row(node_id e) const {
    const auto is = [&](int k) { return is_row(g.arg(e, k)) && is_data(g.arg(e, 1 - k)) && meets(g.arg(e, 1 - k)); };
    return g[e].count == 2 && (is(0) || is(1));
  }
  bool meets(node_id e) const { return g.free[e].meets(bound); }

  // What the rows do not say goes with the offsets; of the rest nothing may look for a row.
  bool split() {
    for (const node_id e : conditions) {
      if (std::ranges::any_of(targets, [&](const target& t) { return t.condition == e; })) continue;
      const bool of_rows = std::ranges::any_of(targets, [&](const target& t) { return uses(g, e, t.row); });
      node_id& all = of_rows || !g.free[e].meets(bound) ? rest : valid;
      all = conjunction(g, all, e);
      if ((of_rows && is_data(e)) || looks_for_row(e)) return false;
    }
    return true;
  }

  node_id gathered() {
    node_id number = integer(g, 0), asked = integer(g, 0), near = truth(g, true);
    for (const target& t : targets) {
      const node_id places = integer(g, t.high - t.low), low = integer(g, t.low);
      const node_id ahead = make(g, op::sub, t.row, t.start);
      const auto counted = [&](node_id before, node_id offset) {
        return make(g, op::add, make(g, op::mul, before, places), make(g, op::sub, offset, low));
      };
      near = conjunction(g, near, make(g, op::less_equal, low, ahead));
      near = conjunction(g, near, make(g, op::less, ahead, integer(g, t.high)));
      number = counted(number, t.offset), asked = counted(asked, ahead);
    }
    number = cast_to(g, element::i8, make(g, op::select, valid, number, integer(g, -1)));
    const node_id at = proven(g, stored(c, number, {"offset", s, "which of the few places near it an update is for"}));
    const node_id is_here = make(g, op::equal, at, cast_to(g, element::i8, asked));
    return reduce(g, monoid::sum, g.arg(n, 0), conjunction(g, conjunction(g, near, rest), is_here), indices.data(),
                  static_cast<int>(indices.size()));
  }

  const context& c;
  graph& g;
  const stage& s;
  const node_id n;
  const std::vector<node_id> indices;
  const index_set bound;
  std::vector<node_id> conditions;
  std::vector<target> targets;
  node_id valid = truth(g, true), rest = truth(g, true);
};

}  // namespace

bool take_near_scatter(const context& c, stage& s) {
  graph& g = c.g;
  if (s.how != way::map) return false;
  for (const node_id n : reductions_in(g, s.body)) {
    const node_id sum = near_scatter(c, s, n)();
    if (sum == no_node) continue;
    replace_in(g, s, n, cast_to(g, g.type(n), sum));
    return true;
  }
  return false;
}

}  // namespace sheaf::inline v0_1::plan
