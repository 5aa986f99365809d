// See approx.hpp.
#include "approx.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <sheaf/dsl/graph/cell.hpp>

namespace sheaf::fuzz {

namespace {

// A result of f16 or bf16 may be rounded to its type before it is used, to an infinity too. Whether it is the same as
// another is asked of what both are rounded to.
void allow_rounding(element type, approximate& a) {
  if ((type != element::f16 && type != element::bf16) || !std::isfinite(a.real) || round_to(type, a.real) == a.real)
    return;
  a.error += unit_of(type) * std::abs(a.real) + smallest_of(type);
  if (std::abs(a.real) + a.error > 0.999 * largest_of(type)) a.error = unknown;
}
bool chooses(op kind) { return kind == op::minimum || kind == op::maximum || kind == op::neg || kind == op::abs; }
// Of a reduction, maybe chosen among others.
bool is_result(const graph& g, node_id n) {
  bool found = g.kind(n) == op::reduce;
  for (int k = 0; k < g[n].count && chooses(g.kind(n)); ++k) found = found || is_result(g, g.arg(n, k));
  return found;
}

}  // namespace

approximation::approximation(const graph& g, std::vector<const tensor_data*> inputs, bool ahead)
    : g_(g), inputs_(std::move(inputs)), ahead_(ahead) {
  const auto nodes = static_cast<std::size_t>(g.size()), count = static_cast<std::size_t>(g.indices.size());
  kept_.assign(nodes, -1);
  computed_.assign(nodes, 0);
  values_.assign(nodes, {});
  infinite_.assign(nodes, false);
  assigned_.assign(count, 0);
  position_.assign(count, 0);
  free_.resize(nodes);
  for (node_id n = 0; n < g.size(); ++n)
    for (int o = 0; o < g.indices.size(); ++o)
      if (g.free[n].has(o)) free_[static_cast<std::size_t>(n)].push_back(o);
}

void approximation::assign(int ordinal, std::int64_t position) {
  position_[static_cast<std::size_t>(ordinal)] = position;
  assigned_[static_cast<std::size_t>(ordinal)] = ++clock_;
}
bool approximation::is_current(node_id n) const {
  const std::int64_t when = computed_[static_cast<std::size_t>(n)];
  return when != 0 && std::all_of(free_[static_cast<std::size_t>(n)].begin(), free_[static_cast<std::size_t>(n)].end(),
                                  [&](int o) { return assigned_[static_cast<std::size_t>(o)] <= when; });
}

approximate approximation::value(node_id n) {
  if (is_current(n)) return values_[static_cast<std::size_t>(n)];
  ++steps_;
  const approximate v = tired() ? approximate{} : computed(n);
  computed_[static_cast<std::size_t>(n)] = ++clock_;
  if (is_floating(g_.type(n)) && (!std::isfinite(v.real) || has_infinite_slope(n)))
    infinite_[static_cast<std::size_t>(n)] = true;
  return values_[static_cast<std::size_t>(n)] = v;
}

bool approximation::has_infinite_slope(node_id n) const {
  if (g_.kind(n) != op::sqrt && g_.kind(n) != op::pow) return false;
  return values_[static_cast<std::size_t>(g_.arg(n, 0))].real == 0;
}

approximate approximation::converted(approximate a, element from, element to) {
  if (is_floating(from) && is_floating(to)) {
    if (from != to) allow_rounding(from, a);
    const double before = a.real;
    a.real = round_to(to, before);
    if (a.error > 0) a.error += 2 * unit_of(to) * std::abs(before) + smallest_of(to);
    if (a.error > 0 && std::abs(before) + a.error > 0.999 * largest_of(to)) a.error = unknown;
    if (std::isnan(a.error)) a.error = unknown;
    return a;
  }
  if (is_floating(from)) {
    const bool jump =
        a.error > 0 && (to == element::boolean ? std::abs(a.real) <= a.error
                                               : std::trunc(a.real - a.error) != std::trunc(a.real + a.error));
    return {0, truncate_to(to, a.real), jump || std::isinf(a.error) ? unknown : 0};
  }
  if (!is_floating(to)) return {0, wrap_to(to, a.integer), a.error};
  const double exact = real_of(element::f64, a.integer, from), real = real_of(to, a.integer, from);
  return {real, 0, a.error, from == element::boolean && exact == 0};
}

bool approximation::holds(node_id n, bool& unsure) {
  const approximate v = value(n);
  const bool real = is_floating(g_.type(n));
  const bool yes = real ? v.real != 0 : v.integer != 0;
  if (real ? v.error > 0 && std::abs(v.real) <= v.error : v.error > 0) unsure = true;
  return yes;
}

approximate approximation::computed(node_id n) {
  const element type = g_.type(n);
  bool unsure = false;
  switch (g_.kind(n)) {
    case op::constant: {
      const cell c = cells::constant(g_, n);
      return is_floating(type) ? approximate{round_to(type, c.real)} : approximate{0, c.integer};
    }
    case op::index: return {0, position_[static_cast<std::size_t>(g_.ordinal(n))]};
    case op::extent:
      return {0, inputs_[static_cast<std::size_t>(g_[g_.arg(n, 0)].attribute)]
                     ->extents[static_cast<std::size_t>(g_[n].attribute)]};
    case op::load: return loaded(n);
    case op::reduce: return reduced(n);
    case op::stop_gradient: return value(g_.arg(n, 0));
    case op::cast: return converted(value(g_.arg(n, 0)), g_.type(g_.arg(n, 0)), type);
    case op::select: {
      const int taken = holds(g_.arg(n, 0), unsure) ? 1 : 2;
      approximate v = converted(value(g_.arg(n, taken)), g_.type(g_.arg(n, taken)), type);
      v.masked = v.masked || is_number(g_, g_.arg(n, taken), 0);
      if (unsure) v.error = unknown;
      return v;
    }
    case op::logical_and:
    case op::logical_or: {
      const bool first = holds(g_.arg(n, 0), unsure);
      const bool ends = first == (g_.kind(n) == op::logical_or);
      const bool result = ends ? first : holds(g_.arg(n, 1), unsure);
      return {0, result, unsure ? unknown : 0};
    }
    default: return of_op(n);
  }
}

// What a mask left takes away what is not a number where a kernel sees the mask, and where it reads a definition not.
bool may_take_away(op kind, const approximate& zero, const approximate& other) {
  if (zero.masked && std::isinf(zero.error)) return true;  // it may be that 0 still
  if (!zero.masked || zero.real != 0 || !zero.sure()) return false;
  return std::isinf(other.error) || !std::isfinite(other.real) ||
         (kind == op::div && std::abs(other.real) <= other.error);
}

approximate approximation::of_op(node_id n) {
  const op kind = g_.kind(n);
  const element type = g_.type(n);
  approximate x[3];
  const op_row& w = row(kind);
  bool real = w.integer == nullptr;
  for (int k = 0; k < g_[n].count; ++k) real = real || is_floating(g_.type(g_.arg(n, k)));
  for (int k = 0; k < g_[n].count; ++k) {
    x[k] = value(g_.arg(n, k));
    if (w.result != result_type::boolean && !chooses(kind) && is_result(g_, g_.arg(n, k)))
      allow_rounding(g_.type(g_.arg(n, k)), x[k]);
    if (const element from = g_.type(g_.arg(n, k)); real && !is_floating(from))
      x[k].real = real_of(element::f64, x[k].integer, from);
    if (const element from = g_.type(g_.arg(n, k)); cells::is_asked_as_stored(kind, from))
      x[k] = converted(x[k], element::f32, from);
  }
  // A mask takes away what is not a number.
  if (kind == op::mul && real)
    for (int k = 0; k < 2; ++k) {
      const node_id a = g_.arg(n, k);
      if (g_.kind(a) == op::cast && g_.type(g_.arg(a, 0)) == element::boolean && x[k].real == 0 && x[k].sure())
        return {0, 0, 0, true};
    }
  approximate r = approximate_op(kind, is_floating(type) ? type : real ? element::f64 : type,
                                 g_.type(g_.arg(n, 0)), real, x);
  const bool left = x[0].masked || (kind == op::mul && x[1].masked);
  r.masked = left && (kind == op::mul || kind == op::div || kind == op::neg);
  if (real && (kind == op::mul || kind == op::div) && may_take_away(kind, x[0], x[1])) r.error = unknown;
  if (real && kind == op::mul && may_take_away(kind, x[1], x[0])) r.error = unknown;
  return r;
}

approximate approximation::loaded(node_id n) {
  const node_id tensor = g_.arg(n, 0);
  const bool defined = g_.kind(tensor) == op::define;
  const tensor_data* input = defined ? nullptr : inputs_[static_cast<std::size_t>(g_[tensor].attribute)];
  std::vector<std::int64_t> at;
  bool unsure = false;
  for (int d = 0; d + 1 < g_[n].count; ++d) {
    const approximate s = value(g_.arg(n, 1 + d));
    at.push_back(s.integer);
    unsure = unsure || !s.sure();
  }
  const approximate_tensor* t = defined ? &of(tensor) : nullptr;
  const std::vector<std::int64_t>& extents = defined ? t->extents : input->extents;
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < at.size(); ++d) {
    const std::int64_t place = at[d] - (defined ? t->lows[d] : 0);
    if (unsure || place < 0 || place >= extents[d]) {
      unsure_subscript_ = true;
      return {0, 0, unknown};
    }
    offset = offset * extents[d] + place;
  }
  if (defined) return t->values[static_cast<std::size_t>(offset)];
  const auto k = static_cast<std::size_t>(offset);
  return is_floating(input->type) ? approximate{input->reals[k]} : approximate{0, input->integers[k]};
}

const approximate_tensor& approximation::of(node_id definition) {
  if (const int k = kept_[static_cast<std::size_t>(definition)]; k >= 0) return tensors_[static_cast<std::size_t>(k)];
  approximate_tensor t;
  for (int d = 0; d < tensor_rank(g_, definition); ++d) {
    const node_id idx = g_.arg(definition, 1 + d);
    const std::int64_t low = value(g_.arg(idx, 0)).integer, high = value(g_.arg(idx, 1)).integer;
    t.lows.push_back(low);
    t.extents.push_back(std::max<std::int64_t>(high - low, 0));
  }
  const std::vector<std::int64_t> positions = position_;
  fill(definition, 0, t);
  for (int d = 0; d < tensor_rank(g_, definition); ++d) {
    const int o = g_.ordinal(g_.arg(definition, 1 + d));
    assign(o, positions[static_cast<std::size_t>(o)]);
  }
  tensors_.reserve(static_cast<std::size_t>(g_.size()));
  tensors_.push_back(std::move(t));
  kept_[static_cast<std::size_t>(definition)] = static_cast<int>(tensors_.size()) - 1;
  return tensors_.back();
}

void approximation::fill(node_id definition, int d, approximate_tensor& t) {
  if (d < static_cast<int>(t.extents.size())) {
    const int o = g_.ordinal(g_.arg(definition, 1 + d));
    for (std::int64_t i = 0; i < t.extents[static_cast<std::size_t>(d)] && !tired(); ++i) {
      ++steps_;  // also where nothing is stored or the same value each time
      assign(o, t.lows[static_cast<std::size_t>(d)] + i);
      fill(definition, d + 1, t);
    }
    return;
  }
  const element type = g_.type(definition);
  approximate v = value(g_.arg(definition, 0));
  if (is_floating(g_.type(g_.arg(definition, 0))) != is_floating(type))
    v = converted(v, g_.type(g_.arg(definition, 0)), type);
  if (is_floating(type)) {  // stored, or not
    if (std::isfinite(v.real) && !(v.sure() && round_to(type, v.real) == v.real))
      v.error += unit_of(type) * std::abs(v.real) + smallest_of(type);
    if (std::isfinite(v.real) && std::abs(v.real) + v.error > 0.999 * largest_of(type) && !v.sure()) v.error = unknown;
  }
  t.values.push_back(v);
}

// ---- reductions

struct approximation::folding {
  node_id reduce = no_node;
  std::vector<node_id> loops, conjuncts;
  std::vector<std::size_t> depths;
  std::vector<std::vector<approximate>> elements;
  std::vector<std::int64_t> positions;
  bool unsure = false;
  bool separated = false;  // may the terms of what is summed be summed apart?
  sizes_of_terms terms;
};

namespace {

void list_conjuncts(const graph& g, node_id condition, const std::vector<node_id>& loops, std::vector<node_id>& list,
                    std::vector<std::size_t>& depths) {
  if (g.kind(condition) == op::logical_and) {
    list_conjuncts(g, g.arg(condition, 0), loops, list, depths);
    return list_conjuncts(g, g.arg(condition, 1), loops, list, depths);
  }
  std::size_t depth = depths.empty() ? 0 : depths.back();
  for (std::size_t k = depth; k < loops.size(); ++k)
    if (g.free[condition].has(g.ordinal(loops[k]))) depth = k + 1;
  list.push_back(condition);
  depths.push_back(depth);
}

}  // namespace

void approximation::run(folding& f, std::size_t depth) {
  if (tired()) return;
  for (std::size_t i = 0; i < f.conjuncts.size(); ++i)
    if (f.depths[i] == depth && !holds(f.conjuncts[i], f.unsure)) return;
  if (depth == f.loops.size()) {
    const node_id body = g_.arg(f.reduce, 0);
    std::vector<approximate> e;
    if (g_.kind(body) == op::tuple)
      for (int k = 0; k < g_[body].count; ++k) e.push_back(value(g_.arg(body, k)));
    else
      e.push_back(value(body));
    if (f.separated) note_terms(body, f.terms);
    f.elements.push_back(std::move(e));
    f.positions.push_back(position_[static_cast<std::size_t>(g_.ordinal(f.loops[0]))]);
    return;
  }
  const node_id idx = f.loops[depth];
  const approximate low = value(g_.arg(idx, 0)), high = value(g_.arg(idx, 1));
  if (!low.sure() || !high.sure()) f.unsure = true;
  if (ahead_ && low.integer >= high.integer) return look_past(f.reduce, f.loops, depth);
  for (std::int64_t i = low.integer; i < high.integer && !tired(); ++i) {
    assign(g_.ordinal(idx), i);
    run(f, depth + 1);
  }
}

approximate approximation::of_own_fold(node_id n, const elements& list) {
  const monoid kind = monoid_of(g_, n);
  steps_ += steps_of_fold(g_, kind, list.size());
  if (tired()) return {};
  const approximate r = folded(g_, kind, list);
  if (!has_finite_slopes(g_, kind, list, r)) infinite_[static_cast<std::size_t>(n)] = true;
  return r;
}

approximate approximation::reduced(node_id n) {
  folding f;
  f.reduce = n;
  f.separated = may_separate(n);
  const int count = g_[n].count - 2;
  while (static_cast<int>(f.loops.size()) < count) {  // an index after those that its range depends on
    const std::size_t before = f.loops.size();
    for (int k = 0; k < count; ++k) {
      const node_id idx = g_.arg(n, 2 + k);
      bool ready = std::count(f.loops.begin(), f.loops.end(), idx) == 0;
      for (int j = 0; ready && j < count; ++j) {
        const node_id other = g_.arg(n, 2 + j);
        ready = other == idx || std::count(f.loops.begin(), f.loops.end(), other) > 0 ||
                !g_.free[idx].has(g_.ordinal(other));
      }
      if (!ready) continue;
      f.loops.push_back(idx);
      break;
    }
    if (f.loops.size() == before) break;
  }
  list_conjuncts(g_, g_.arg(n, 1), f.loops, f.conjuncts, f.depths);
  std::vector<std::int64_t> positions;
  for (const node_id idx : f.loops) positions.push_back(position_[static_cast<std::size_t>(g_.ordinal(idx))]);
  run(f, 0);
  for (std::size_t k = 0; k < f.loops.size(); ++k) assign(g_.ordinal(f.loops[k]), positions[k]);
  const monoid kind = monoid_of(g_, n);
  const element type = g_.type(g_.arg(n, 0));
  const bool real = is_floating(type);
  approximate r;
  if (is_own(kind)) {
    r = of_own_fold(n, f.elements);
  } else if (row(kind).position) {
    r = placed(f.elements, f.positions, kind, real);
  } else if (real && !row(kind).boolean) {
    r = kind == monoid::sum    ? added(f.elements, type, f.terms)
        : kind == monoid::prod ? multiplied(f.elements, type)
                               : extreme(f.elements, kind);
    r.masked = kind == monoid::sum && !(f.elements.empty() && f.conjuncts.empty()) &&
               std::all_of(f.elements.begin(), f.elements.end(),
                           [](const auto& e) { return e[0].masked && e[0].real == 0; });
    if (kind == monoid::sum && (f.elements.empty() || std::isnan(r.real)) && may_leave_factor(n)) {
      r.error = unknown;
      infinite_[static_cast<std::size_t>(n)] = true;
    }
  } else {
    const double identity = row(kind).identity;
    r.integer = identity == math::infinity    ? highest_integer(type)
                : identity == -math::infinity ? lowest_integer(type)
                                              : static_cast<std::int64_t>(identity);
    for (const auto& e : f.elements) {
      const std::int64_t v = row(kind).boolean && real ? e[0].real != 0
                             : row(kind).boolean       ? e[0].integer != 0
                                                       : e[0].integer;
      r.integer = whole_result(row(row(kind).combine), type, r.integer, v, 0);
      if (e[0].error > 0 && !(real && std::abs(e[0].real) > e[0].error)) r.error = unknown;
    }
  }
  if (f.unsure) r.error = unknown;
  return r;
}

}  // namespace sheaf::fuzz
