// What reductions make of values with errors, in any order of additions. See approx.hpp.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include <sheaf/dsl/graph/cell.hpp>

#include "approx.hpp"

namespace sheaf::fuzz {

namespace {

element folded_in(element type) { return type == element::f64 ? type : element::f32; }

// An expression of operands; errors go with it as through the nodes of the program.
approximate applied(const graph& g, node_id e, const std::vector<approximate>& operands) {
  if (g.kind(e) == op::operand) return operands[static_cast<std::size_t>(g[e].attribute)];
  const element type = g.type(e);
  if (g.kind(e) == op::constant) {
    const cell c = cells::constant(g, e);
    return {round_to(is_floating(type) ? type : element::f64, c.real), c.integer, 0};
  }
  approximate x[3];
  bool real = false;
  for (int k = 0; k < g[e].count; ++k) {
    x[k] = applied(g, g.arg(e, k), operands);
    real = real || is_floating(g.type(g.arg(e, k)));
  }
  if (g.kind(e) == op::cast) {
    const element from = g.type(g.arg(e, 0));
    if (is_floating(type))
      return {round_to(type, is_floating(from) ? x[0].real : real_of(element::f64, x[0].integer, from)), 0, x[0].error};
    return {0, is_floating(from) ? truncate_to(type, x[0].real) : x[0].integer,
            x[0].error > 0 ? unknown : 0};
  }
  if (g.kind(e) == op::select) {
    const bool yes = is_floating(g.type(g.arg(e, 0))) ? x[0].real != 0 : x[0].integer != 0;
    approximate v = yes ? x[1] : x[2];
    if (!x[0].sure()) v.error = unknown;
    return v;
  }
  for (int k = 0; k < g[e].count; ++k)
    if (const element from = g.type(g.arg(e, k)); real && !is_floating(from))
      x[k].real = real_of(element::f64, x[k].integer, from);
  return approximate_op(g.kind(e),
                        is_floating(type) ? type
                        : real            ? element::f64
                                          : type,
                        g.type(g.arg(e, 0)), real || row(g.kind(e)).integer == nullptr, x);
}

}  // namespace

namespace {
bool divides(const graph& g, node_id e) {
  const op kind = g.kind(e);
  if (kind == op::select) return divides(g, g.arg(e, 1)) || divides(g, g.arg(e, 2));
  return kind == op::div || (kind == op::mul && (divides(g, g.arg(e, 0)) || divides(g, g.arg(e, 1))));
}
}  // namespace

// A sum of a + b over a range that an outer index bounds may be the sums of a and of b (jit/plan/separate.cpp).
bool approximation::may_separate(node_id n) const {
  if (monoid_of(g_, n) != monoid::sum || !is_floating(g_.type(g_.arg(n, 0)))) return false;
  for (int k = 2; k < g_[n].count; ++k)
    if (free_[static_cast<std::size_t>(g_.arg(n, k))].size() > 1) return true;
  return false;
}
// What is not finite and the same for all terms may leave a sum, which over a tensor without elements is then NaN, and
// may not be where one of the others is 0 (semantics.md).
bool approximation::may_leave_factor(node_id n) {
  index_set loops;
  bool walked = false;
  for (int k = 2; k < g_[n].count; ++k) {
    const node_id idx = g_.arg(n, k), high = g_.arg(idx, 1);
    loops.insert(g_.ordinal(idx));
    walked = walked || (is_number(g_, g_.arg(idx, 0), 0) && g_.kind(high) == op::extent);
  }
  if (!walked) return false;
  const bool unsure = std::exchange(unsure_subscript_, false);
  const std::int64_t begin = clock_;
  const std::size_t kept = tensors_.size();
  const bool found = holds_infinite(g_.arg(n, 0), loops);
  if (unsure_subscript_) forget(begin, kept);
  unsure_subscript_ = unsure;
  return found;
}
// What was computed since then, if its subscripts are not to count: who comes to it by itself meets them anew.
void approximation::forget(std::int64_t begin, std::size_t kept) {
  for (std::int64_t& when : computed_)
    if (when > begin) when = 0;
  for (int& k : kept_)
    if (k >= static_cast<int>(kept)) k = -1;
  tensors_.resize(kept);
}
bool approximation::holds_infinite(node_id n, index_set loops) {
  ++steps_;
  if (tired() || (g_.kind(n) != op::tuple && !is_floating(g_.type(n)))) return false;
  if (g_.kind(n) != op::tuple && !g_.free[n].meets(loops)) return !std::isfinite(value(n).real);
  if (g_.kind(n) == op::reduce)
    for (int k = 2; k < g_[n].count; ++k) loops.insert(g_.ordinal(g_.arg(n, k)));
  if (g_.kind(n) != op::load) {
    bool found = false;
    for (int k = 0; k < (g_.kind(n) == op::reduce ? 1 : g_[n].count); ++k)
      found = found || holds_infinite(g_.arg(n, k), loops);
    return found;
  }
  const node_id tensor = g_.arg(n, 0);
  if (g_.kind(tensor) != op::define) return false;
  index_set reached;  // of the definition's indices
  std::vector<std::pair<int, std::int64_t>> before;
  for (int d = 0; d + 1 < g_[n].count; ++d) {
    const int o = g_.ordinal(g_.arg(tensor, 1 + d));
    before.emplace_back(o, position_[static_cast<std::size_t>(o)]);
    if (g_.free[g_.arg(n, 1 + d)].meets(loops)) reached.insert(o);
    else assign(o, value(g_.arg(n, 1 + d)).integer);
  }
  const bool found = holds_infinite(g_.arg(tensor, 0), reached);
  for (const auto& [o, position] : before) assign(o, position);
  return found;
}
// And a sum of a * (b / d), where d is the same for all, that of a * b over d.
void approximation::note_terms(node_id e, sizes_of_terms& terms) {
  const op kind = g_.kind(e);
  terms.divided = terms.divided || divides(g_, e);
  if (kind != op::add && kind != op::sub && kind != op::neg) return terms.note(value(e));
  for (int k = 0; k < g_[e].count; ++k) note_terms(g_.arg(e, k), terms);
}

void sizes_of_terms::note(const approximate& x) {
  if (!std::isfinite(x.real)) return;
  const summands of = summands_of(x);
  sum += of.size;
  least = std::min(least, of.least);
}

approximate added(const elements& list, element type, const sizes_of_terms& terms) {
  approximate r;
  r.of.count = 0;
  double sizes = 0, least = terms.least, infinite = 0, n = 0;
  for (const auto& e : list) {
    r.real += e[0].real;
    r.error += e[0].error;
    if (!std::isfinite(e[0].real)) infinite += 1;
    const summands of = summands_of(e[0]);
    sizes += of.size, least = std::min(least, of.least);
    r.of.count += of.count;
    n += e[0].sure() ? static_cast<double>(of.count) : 1;  // else its error has the additions of its own
  }
  sizes = std::max(sizes, terms.sum);
  r.of.size = sizes, r.of.least = least;
  const element in = folded_in(type);
  if (infinite > 0) r.error = r.error > 0 || sizes > 0.9 * largest_of(in) ? unknown : 0;
  else if (sizes > 0.9 * largest_of(in)) r.error = unknown;
  else if (!(r.error == 0 && (sizes == 0 || sizes / least * unit_of(in) < 1)))
    r.error += n * unit_of(in) * sizes + (n > 0 ? smallest_of(in) : 0);
  if (terms.divided) r.error += 4 * unit_of(in) * sizes;
  return r;
}

approximate multiplied(const elements& list, element type) {
  approximate r;
  r.real = 1;
  const element in = folded_in(type);
  double bits = 0, relative = 0, most = 0, below = 0;
  bool special = false, sure = true;
  for (const auto& e : list) {
    const double a = std::abs(e[0].real);
    r.real *= e[0].real;
    sure = sure && e[0].sure();
    special = special || !std::isfinite(a) || a == 0;
    if (std::isfinite(a) && a > 0) {
      bits += std::log2(a / quantum(a)) + 1;
      relative += e[0].error / a;
      most += std::max(0.0, std::log2(a)), below += std::min(0.0, std::log2(a));
    }
  }
  const double n = static_cast<double>(list.size());
  const bool in_range = most < std::log2(largest_of(in)) - 1 && below > std::log2(smallest_of(in)) + 26;
  if (special) r.error = sure && in_range ? 0 : unknown;
  else if (!in_range) r.error = unknown;
  else if (!(sure && bits <= -std::log2(unit_of(in))))
    r.error = relative > 0.3 ? unknown : 2 * std::abs(r.real) * (relative + n * unit_of(in));
  return r;
}

approximate extreme(const elements& list, monoid kind) {
  approximate r;
  r.real = kind == monoid::max ? -math::infinity : math::infinity;
  bool nan = false, unsure_nan = false;
  double error = 0;
  for (const auto& e : list) {
    nan = nan || (std::isnan(e[0].real) && e[0].sure());
    unsure_nan = unsure_nan || std::isinf(e[0].error);
    r.real = row(kind).combine == op::maximum ? row(op::maximum).real(r.real, e[0].real, 0)
                                              : row(op::minimum).real(r.real, e[0].real, 0);
    error = std::max(error, e[0].error);
  }
  if (!nan) r.error = unsure_nan ? unknown : error;
  if (nan) r.real = math::nan;
  return r;
}

approximate placed(const elements& list, const std::vector<std::int64_t>& positions, monoid kind, bool real) {
  const bool greatest = kind == monoid::argmax;
  std::size_t best = list.size();
  const auto better = [&](const approximate& a, const approximate& b) {
    if (!real) return greatest ? a.integer > b.integer : a.integer < b.integer;
    if (std::isnan(b.real)) return false;
    return std::isnan(a.real) || (greatest ? a.real > b.real : a.real < b.real);
  };
  for (std::size_t k = 0; k < list.size(); ++k)
    if (best == list.size() || better(list[k][0], list[best][0])) best = k;
  if (best == list.size()) return {0, -1};
  approximate r{0, positions[best]};
  for (std::size_t k = 0; k < list.size(); ++k) {
    const double reach = list[k][0].error + list[best][0].error;
    if (k != best && reach > 0 && !(std::abs(list[k][0].real - list[best][0].real) > reach)) r.error = unknown;
  }
  if (!list[best][0].sure() && std::isinf(list[best][0].error)) r.error = unknown;
  return r;
}

namespace {

using values = std::vector<approximate>;

values identity_of_state(const graph& g, monoid kind) {
  values state;
  for (int k = 0; k < own_row_of(g, kind).width; ++k) {
    const cell c = cells::constant(g, own_row_of(g, sibling(g, kind, k)).identity);
    state.push_back({c.real, c.integer, 0});
  }
  return state;
}
values combined(const graph& g, monoid kind, values a, const values& b) {
  a.insert(a.end(), b.begin(), b.end());
  values state;
  for (int k = 0; k < own_row_of(g, kind).width; ++k)
    state.push_back(applied(g, own_row_of(g, sibling(g, kind, k)).combine, a));
  return state;
}
values in_pairs(const graph& g, monoid kind, elements list) {
  if (list.empty()) return identity_of_state(g, kind);
  for (; list.size() > 1; list.resize((list.size() + 1) / 2))
    for (std::size_t i = 0; 2 * i < list.size(); ++i)
      list[i] = 2 * i + 1 < list.size() ? combined(g, kind, list[2 * i], list[2 * i + 1]) : list[2 * i];
  return list[0];
}
bool is_finite(const values& list) {
  return std::all_of(list.begin(), list.end(), [](const approximate& a) { return std::isfinite(a.real); });
}
bool same_kind(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : std::isinf(a) || std::isinf(b) ? a == b : !std::isnan(b);
}

// Does the result hang on which side an identity stands, or on how elements are grouped? So it may where a value is
// infinite, or NaN, for which the laws of a monoid need not hold.
bool hangs_on_groups(const graph& g, monoid kind, const elements& list, const approximate& r) {
  const auto k = static_cast<std::size_t>(own_row_of(g, kind).component);
  const values nothing = identity_of_state(g, kind);
  values from_right = nothing, with_nothing = nothing;
  for (std::size_t i = 0; i < list.size(); ++i) {
    from_right = combined(g, kind, list[list.size() - 1 - i], from_right);
    with_nothing = combined(g, kind, combined(g, kind, with_nothing, list[i]), nothing);
  }
  return !same_kind(from_right[k].real, r.real) || !same_kind(with_nothing[k].real, r.real);
}

}  // namespace

approximate folded(const graph& g, monoid kind, const elements& list) {
  const own_monoid_row& m = own_row_of(g, kind);
  const auto k = static_cast<std::size_t>(m.component);
  values state = identity_of_state(g, kind), from_right = state;
  bool finite = true;
  for (std::size_t i = 0; i < list.size(); ++i) {
    state = combined(g, kind, state, list[i]);
    from_right = combined(g, kind, list[list.size() - 1 - i], from_right);
    finite = finite && is_finite(list[i]) && is_finite(state);
  }
  // In another order of combinations roundings fall on other partial results, of like size.
  approximate r = state[k];
  r.error = std::max({r.error, from_right[k].error, in_pairs(g, kind, list)[k].error});
  if (r.error > 0)
    r.error = 8 * r.error +
              8 * static_cast<double>(list.size()) * unit_of(folded_in(m.type)) * std::max(1.0, std::abs(r.real));
  if (!finite && hangs_on_groups(g, kind, list, r)) r.error = unknown;
  return r;
}

// Nodes that the folds of `count` elements above visit.
std::int64_t steps_of_fold(const graph& g, monoid kind, std::size_t count) {
  std::map<node_id, std::int64_t> sizes;
  std::function<std::int64_t(node_id)> size = [&](node_id e) {
    if (const auto known = sizes.find(e); known != sizes.end()) return known->second;
    std::int64_t all = 1;
    for (int k = 0; g.kind(e) != op::operand && k < g[e].count; ++k) all += size(g.arg(e, k));
    return sizes[e] = all;
  };
  std::int64_t each = 0;
  for (int k = 0; k < own_row_of(g, kind).width; ++k) each += size(own_row_of(g, sibling(g, kind, k)).combine);
  return 6 * each * static_cast<std::int64_t>(count);
}

bool has_finite_slopes(const graph& g, monoid kind, const elements& list, const approximate& result) {
  const own_monoid_row& m = own_row_of(g, kind);
  if (m.width > 1 || m.adjoint == no_node) return true;
  return std::all_of(list.begin(), list.end(), [&](const std::vector<approximate>& e) {
    return std::isfinite(applied(g, m.adjoint, {e[0], result}).real);
  });
}

}  // namespace sheaf::fuzz
