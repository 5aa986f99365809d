#include <sheaf/jit/plan/sliding.hpp>

#include <optional>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// +1 where e never falls as t grows, -1 where it never rises, 0 where it does not depend on t; nothing where unknown.
std::optional<int> trend(graph& g, node_id e, node_id t) {
  if (!uses(g, e, t)) return 0;
  const line l = split_affine(g, e, t);
  if (l.affine) return l.slope > 0 ? 1 : -1;
  const op kind = g.kind(e);
  const auto both = [&](int sign) -> std::optional<int> {
    const auto a = trend(g, g.arg(e, 0), t), b = trend(g, g.arg(e, 1), t);
    if (!a || !b || *a * *b * sign < 0) return std::nullopt;
    return *a != 0 ? *a : *b * sign;
  };
  if (kind == op::minimum || kind == op::maximum || kind == op::add) return both(1);
  if (kind == op::sub) return both(-1);
  if (kind == op::neg) {
    const auto a = trend(g, g.arg(e, 0), t);
    return a ? std::optional<int>(-*a) : std::nullopt;
  }
  if (kind == op::quotient && is_constant(g, g.arg(e, 1)) && g[g.arg(e, 1)].attribute > 0)
    return trend(g, g.arg(e, 0), t);
  return std::nullopt;
}

// e + stride * t, with the product inside of limits so that it can meet its opposite.
node_id moved(graph& g, node_id e, node_id t, std::int64_t stride) {
  if (stride == 0) return e;
  if (g.kind(e) == op::minimum || g.kind(e) == op::maximum)
    return make(g, g.kind(e), moved(g, g.arg(e, 0), t, stride), moved(g, g.arg(e, 1), t, stride));
  const line l = split_affine(g, e, t);
  if (!l.affine) return make(g, op::add, e, make(g, op::mul, t, integer(g, stride)));
  return make(g, op::add, make(g, op::mul, t, integer(g, l.slope + stride)), l.rest);
}

// The integer expressions in which a body meets t and u, all of one form `step * u + stride * t + rest`; a step is 1,
// or, where they are dilated, any other.
class meetings {
 public:
  meetings(graph& g, node_id t, node_id u, bool dilated = false) : g_(g), t_(t), u_(u), dilated_(dilated) {}

  bool operator()(node_id n) {
    if (!uses(g_, n, u_) && !uses(g_, n, t_)) return true;
    if (!seen_.insert(n).second) return true;
    const op kind = g_.kind(n);
    if (g_.type(n) == element::i64 && (kind == op::index || is_elementwise(kind))) {
      const line a = split_affine(g_, n, u_);
      const line b = a.affine ? split_affine(g_, a.rest, t_) : line{};
      const bool fits = dilated_ ? a.slope > 1 || a.slope < -1 : a.slope == 1;
      if (b.affine && fits && b.slope >= 0 && (found.empty() || (b.slope == stride && a.slope == step))) {
        stride = b.slope;
        step = a.slope;
        found.push_back({n, b.rest});
        return true;
      }
      if (n == u_ || n == t_) return false;
    }
    if (kind == op::reduce)  // over one of them: within, the name is another index, and the range may depend on t
      for (const node_id idx : bound_indices(g_, n))
        if (idx == u_ || idx == t_) return false;
    for (int k = kind == op::load ? 1 : 0; k < g_[n].count; ++k)
      if (!(*this)(g_.arg(n, k))) return false;
    return true;
  }

  std::vector<sliding::meeting> found;
  std::int64_t stride = 0, step = 1;

 private:
  graph& g_;
  node_id t_, u_;
  bool dilated_;
  std::unordered_set<node_id> seen_;
};

bool is_plain(const graph& g, node_id bound, node_id t) {
  index_set rest = g.free[bound];
  rest.erase(g.ordinal(t));
  return rest.empty() && is_formula(g, bound);
}

std::optional<sliding> along(graph& g, node_id n, node_id t, node_id u, node_id beside = no_node) {
  const node_id low = g.arg(u, 0), high = g.arg(u, 1);
  if (!is_plain(g, low, t) || !is_plain(g, high, t)) return std::nullopt;
  for (const node_id idx : bound_indices(g, n))
    if (idx != u && (uses(g, idx, u) || uses(g, idx, t))) return std::nullopt;
  meetings meet(g, t, u);
  if (!meet(g.arg(n, 0)) || !meet(g.arg(n, 1)) || meet.found.empty()) return std::nullopt;
  if (beside != no_node && !meet(beside)) return std::nullopt;
  sliding r;
  r.reduce = n;
  r.over = t;
  r.bound = u;
  r.stride = meet.stride;
  r.low = moved(g, low, t, meet.stride);
  r.high = moved(g, high, t, meet.stride);
  const auto falls = trend(g, r.low, t), rises = trend(g, r.high, t);
  if (!falls || !rises || *falls < 0 || *rises < 0 || (*falls == 0 && *rises == 0)) return std::nullopt;
  r.first = substitute(g, r.low, t, g.arg(t, 0));
  const node_id end = substitute(g, r.high, t, make(g, op::add, g.arg(t, 1), integer(g, -1)));
  // Where there is no t there is to be no s.
  const bool follows = known_less_equal(g, end, g.arg(t, 1)) && known_less_equal(g, g.arg(t, 0), r.first);
  r.last = follows ? end : make(g, op::select, make(g, op::less, g.arg(t, 0), g.arg(t, 1)), end, r.first);
  r.meetings = std::move(meet.found);
  return r;
}

// A bound of u, of which one arm is a number and another may say where places begin or end: `quotient(sign * t + c,
// by) + k`.
struct dilated_bound {
  bool fits = false, cuts = false;
  node_id number = no_node;
  node_id c = no_node, k = no_node;
};
dilated_bound dilated_bound_of(graph& g, node_id bound, node_id t, op cut, std::int64_t step) {
  if (is_constant(g, bound)) return {.fits = true, .number = bound};
  if (g.kind(bound) != cut) return {};
  const int moving = uses(g, g.arg(bound, 0), t) ? 0 : 1;
  const node_id number = g.arg(bound, 1 - moving);
  const bound_line b = bound_of(g, g.arg(bound, moving), t);
  const bool fits = is_constant(g, number) && !b.limited && b.by == -step;
  return {.fits = fits, .cuts = true, .number = number, .c = b.rest, .k = b.more};
}

// Of u >= quotient(-t + c, d) + k, that is d * u + t >= d * k + c - d + 1, and of u < it, d * u + t < d * k + c - d +
// 1; where the step is negative the same turned round.
node_id limit_of(graph& g, const dilated_bound& b, std::int64_t step) {
  const std::int64_t d = std::abs(step);
  const node_id sum = make(g, op::add, make(g, op::mul, b.k, integer(g, d)), b.c);
  return step > 0 ? make(g, op::add, sum, integer(g, 1 - d)) : make(g, op::sub, integer(g, d), sum);
}

// The limits only cut what lies outside of [first, last): low is a maximum, high a minimum of the moving bound and
// numbers.
bool only_cuts(const graph& g, node_id bound, node_id t, op cut) {
  while (g.kind(bound) == op::minimum || g.kind(bound) == op::maximum) {
    if (g.kind(bound) != cut) return false;
    bound = g.free[g.arg(bound, 0)].has(g.ordinal(t)) ? g.arg(bound, 0) : g.arg(bound, 1);
  }
  return true;
}

}  // namespace

bool cuts_only(const graph& g, const sliding& r) {
  return only_cuts(g, r.low, r.over, op::maximum) && only_cuts(g, r.high, r.over, op::minimum);
}

bound_line bound_of(graph& g, node_id bound, node_id t) {
  bound_line r;
  while (g.kind(bound) == op::minimum || g.kind(bound) == op::maximum) {
    const int k = uses(g, g.arg(bound, 0), t) ? 0 : 1;
    if (uses(g, g.arg(bound, 1 - k), t)) return r;
    r.limited = true;
    bound = g.arg(bound, k);
  }
  const line l = split_affine(g, bound, t);
  r.moving = bound;
  r.affine = l.affine;
  r.slope = l.slope;
  r.rest = l.rest;
  r.more = integer(g, 0);
  if (l.affine) return r;
  linear terms;
  collect(g, bound, 1, terms);
  node_id quotient = no_node;
  for (const linear::term& e : terms.terms) {
    if (e.factor == 0 || !uses(g, e.node, t)) continue;
    if (quotient != no_node || e.factor != 1 || g.kind(e.node) != op::quotient ||
        !linears::divides_by_constant(g, e.node))
      return r;
    quotient = e.node;
  }
  const line inner = quotient == no_node ? line{} : split_affine(g, g.arg(quotient, 0), t);
  if (!inner.affine || std::abs(inner.slope) != 1) return r;
  r.by = inner.slope * g[g.arg(quotient, 1)].attribute;
  r.rest = inner.rest;
  r.more = make(g, op::sub, bound, quotient);
  return r;
}

length length_of(graph& g, const bound_line& low, const bound_line& high) {
  const bool alike = low.affine == high.affine && low.slope == high.slope && low.by == high.by;
  if (!alike || (!low.affine && low.by <= 0)) return {};
  const node_id apart = make(g, op::sub, high.rest, low.rest), more = make(g, op::sub, high.more, low.more);
  if (!is_constant(g, apart) || !is_constant(g, more)) return {};
  const std::int64_t size = g[apart].attribute;
  if (low.affine) return {true, false, size};
  return {true, size % low.by != 0, math::floor_quotient(size, low.by) + g[more].attribute};
}

std::int64_t width_of(graph& g, const sliding& r) {
  const bound_line low = bound_of(g, r.low, r.over);
  const length l = length_of(g, low, bound_of(g, r.high, r.over));
  return l.known && low.slope > 0 ? std::max<std::int64_t>(l.least, 0) : 0;
}

sliding sliding_of(graph& g, node_id n) {
  const bool several = keeps_several(g, n) || in_order(g, monoid_of(g, n));
  if (row(monoid_of(g, n)).position || (several && g[n].count != 3) || !has_closed_ranges(g, n)) return {};
  for (const node_id u : bound_indices(g, n))
    for (const node_id t : indices_of(g, g.free[n]))
      if (const auto found = along(g, n, t, u)) return *found;
  return {};
}

sliding sliding_along(graph& g, node_id n, node_id t, node_id u, node_id beside) {
  return has_closed_ranges(g, n) ? along(g, n, t, u, beside).value_or(sliding{}) : sliding{};
}

sliding dilated_along(graph& g, node_id n, node_id t, node_id u, node_id beside) {
  if (!has_closed_ranges(g, n) || !is_plain(g, g.arg(u, 0), t) || !is_plain(g, g.arg(u, 1), t)) return {};
  for (const node_id idx : bound_indices(g, n))
    if (idx != u && (uses(g, idx, u) || uses(g, idx, t))) return {};
  meetings meet(g, t, u, true);
  if (!meet(g.arg(n, 0)) || !meet(g.arg(n, 1)) || meet.found.empty() || meet.stride != 1) return {};
  if (beside != no_node && !meet(beside)) return {};
  const std::int64_t step = meet.step;
  const dilated_bound low = dilated_bound_of(g, g.arg(u, 0), t, op::maximum, step),
                      high = dilated_bound_of(g, g.arg(u, 1), t, op::minimum, step);
  if (!low.fits || !high.fits) return {};
  const auto farthest = [&](node_id from, node_id by) {
    return make(g, op::add, from, make(g, op::mul, by, integer(g, step)));
  };
  const node_id begin = low.number, end = make(g, op::add, high.number, integer(g, -1));
  sliding r;
  r.first = farthest(g.arg(t, 0), step > 0 ? begin : end);
  r.last = farthest(g.arg(t, 1), step > 0 ? end : begin);
  const dilated_bound &first = step > 0 ? low : high, &last = step > 0 ? high : low;
  if (first.cuts) r.first = stricter(g, op::maximum, r.first, limit_of(g, first, step));
  if (last.cuts) r.last = stricter(g, op::minimum, r.last, limit_of(g, last, step));
  // Where there is no t there is to be no place.
  const bool follows = known_less_equal(g, r.last, g.arg(t, 1)) && known_less_equal(g, g.arg(t, 0), r.first);
  if (!follows) r.last = make(g, op::select, make(g, op::less, g.arg(t, 0), g.arg(t, 1)), r.last, r.first);
  r.reduce = n;
  r.over = t;
  r.bound = u;
  r.stride = 1;
  r.step = step;
  r.low = low.number;
  r.high = high.number;
  r.meetings = std::move(meet.found);
  return r;
}

node_id along_walk(graph& g, const sliding& r, node_id walk, node_id e) {
  replacement put(g, proofs::kept);
  for (const auto& m : r.meetings) put.add(m.node, make(g, op::add, walk, m.rest));
  return put(e);
}

walked value_along(graph& g, const sliding& r) {
  const node_id n = r.reduce, walk = fresh_index(g, r.bound, r.first, r.last);
  const node_id value = along_walk(g, r, walk, g.arg(n, 0));
  const node_id condition = along_walk(g, r, walk, g.arg(n, 1));
  std::vector<node_id> rest;
  for (const node_id idx : bound_indices(g, n))
    if (idx != r.bound) rest.push_back(idx);
  if (!rest.empty()) return {walk, intern_reduce(g, monoid_of(g, n), g.type(n), value, condition, rest)};
  if (folds_tuple(g, n)) {
    flat<node_id> parts;
    for (int k = 0; k < g[value].count; ++k)
      parts.push(
          make(g, op::select, condition, g.arg(value, k), own_row_of(g, sibling(g, monoid_of(g, n), k)).identity));
    return {walk, tuple(g, parts)};
  }
  return {walk, make(g, op::select, condition, value, identity_of(g, monoid_of(g, n), g.type(value)))};
}

}  // namespace sheaf::inline v0_1::plan
