// Expressions: where a node is emitted, and how loads meet lanes.
#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/known_conditions.hpp>
#include <sheaf/jit/ir/verify.hpp>
#include <sheaf/jit/lower/digits.hpp>
#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

namespace {
std::int64_t key(node_id n, bool lane0) { return 2 * std::int64_t{n} + lane0; }
}  // namespace

// The outermost scope that binds what n depends on; of scopes that bind the same (guards) the innermost.
scope& kernel_lowering::place_of(node_id n, scope& s) const {
  scope* best = &s;
  for (scope* p = &s; p != nullptr && g.free[n].within(p->bound); p = p->parent) {
    if (p->before_tasks && p != &s && plan::holds(g, n, op::reduce)) break;
    if (!(p->bound == best->bound)) best = p;
  }
  return *best;
}

std::optional<ir::value> kernel_lowering::find(node_id n, const scope& s, bool lane0) const {
  for (const scope* p = &s; p != nullptr; p = p->parent)
    if (const auto hit = p->values.find(key(n, lane0)); hit != p->values.end()) return hit->second;
  return std::nullopt;
}

// A comparison of quotients of the lane's place that cancel but for their rounding: the same for each group of lanes.
std::optional<ir::value> kernel_lowering::pattern_of(node_id n, scope& s) {
  const op kind = g.kind(n);
  if (s.lane == no_node || aligned != s.lane || (kind != op::less && kind != op::less_equal && kind != op::equal))
    return std::nullopt;
  const node_id low = g.arg(s.lane, 0);
  if (!is_constant(g, low) || g.type(g.arg(n, 0)) != element::i64) return std::nullopt;
  linear gap;
  collect(g, g.arg(n, 1), 1, gap);
  collect(g, g.arg(n, 0), -1, gap);
  constexpr std::int64_t longest = tuning::expression::longest_period;
  std::int64_t period = 1, values[longest] = {};
  double slope = 0;  // of what the terms are without rounding
  for (const linear::term& t : gap.terms) {
    if (t.factor == 0) continue;
    const bool rounds = g.kind(t.node) == op::quotient || g.kind(t.node) == op::remainder;
    if (!rounds || !linears::divides_by_constant(g, t.node)) return std::nullopt;
    linear inner;
    collect(g, g.arg(t.node, 0), 1, inner);
    std::int64_t step = 0;
    for (const linear::term& x : inner.terms) {
      if (x.factor != 0 && x.node != s.lane) return std::nullopt;
      step += x.factor;
    }
    const std::int64_t by = g[g.arg(t.node, 1)].attribute;
    if (by > longest || (by & (by - 1)) != 0) return std::nullopt;
    period = std::max(period, by);
    if (g.kind(t.node) == op::quotient) slope += static_cast<double>(t.factor * step) / static_cast<double>(by);
    for (std::int64_t k = 0; k < longest; ++k) {
      const std::int64_t x = inner.constant + step * (g[low].attribute + k);
      values[k] += t.factor * row(g.kind(t.node)).integer(x, by, 0);
    }
  }
  if (slope != 0 || period == 1 || aligned_lanes % period != 0) return std::nullopt;
  std::int64_t bits = 0;
  for (std::int64_t k = 0; k < period; ++k) {
    const std::int64_t v = values[k] + gap.constant;
    if (kind == op::less ? v > 0 : kind == op::less_equal ? v >= 0 : v == 0) bits |= std::int64_t{1} << k;
  }
  return s.block->pattern(bits, static_cast<std::int32_t>(period));
}

// What is computed of f16 and bf16 is held as f32. Where it is asked whether two are the same, as for ties of an
// extremum, both are what would be stored.
ir::value kernel_lowering::rounded(node_id n, ir::value x, ir::block_builder& b) {
  const element type = g.type(n);
  if (!is_half(type) || !is_elementwise(g.kind(n)) || g.kind(n) == op::cast) return x;
  return b.cast(type, b.cast(element::f32, x));
}

ir::value kernel_lowering::emit(node_id n, scope& s, bool lane0) {
  lane0 = lane0 && s.lane != no_node && g.free[n].has(g.ordinal(s.lane));
  if (const auto known_value = find(n, s, lane0)) return *known_value;
  scope& at = place_of(n, s);
  ir::block_builder& b = *at.block;
  ir::value result = ir::none;
  if (const auto pattern = pattern_of(n, at)) return at.values[key(n, lane0)] = *pattern;
  if (const node_id same = collected(n, at); same != n) return at.values[key(n, lane0)] = emit(same, at, lane0);
  switch (g.kind(n)) {
    case op::constant:
      result = b.constant(g.type(n), g[n].attribute);
      break;
    case op::index:
      result = emit_index(n, at, lane0);
      break;
    case op::extent:
      result = b.extent(buffers.at(g.arg(n, 0)), static_cast<std::int32_t>(g[n].attribute));
      break;
    case op::load:
      if (const auto stored = from_scratch_row(n, at)) {
        result = *stored;
      } else {
        result = emit_load(n, at);
        into_scratch_row(n, result, at);
      }
      break;
    case op::reduce:
      result = reduction(n, at);
      break;
    case op::stop_gradient:
      result = emit(g.arg(n, 0), at, lane0);
      break;
    case op::select:
      if (const node_id c = not_assumed(g.arg(n, 0)); is_true(g, c)) {
        result = emit(g.arg(n, 1), at, lane0);
      } else {
        const ir::value condition = emit(c, at, lane0), yes = emit(g.arg(n, 1), at, lane0);
        result = b.emit(op::select, {condition, yes, emit(g.arg(n, 2), at, lane0)});
      }
      break;
    case op::cast:
      result = b.cast(g.type(n), emit(g.arg(n, 0), at, lane0));
      break;
    default: {
      if (const auto stored = from_scratch_row(n, at)) {
        result = *stored;
        break;
      }
      std::vector<ir::value> list;
      const bool compares = g.kind(n) == op::equal || g.kind(n) == op::not_equal;
      for (int k = 0; k < g[n].count; ++k) {
        const ir::value x = emit(g.arg(n, k), at, lane0);
        list.push_back(compares ? rounded(g.arg(n, k), x, *at.block) : x);
      }
      result = b.emit(g.kind(n), std::move(list));
      into_scratch_row(n, result, at);
    }
  }
  at.values[key(n, lane0)] = result;
  return result;
}

// The lanes of a vector loop are made when first asked for; every other index is known since its loop was opened. One
// that no loop binds would be some other loop's counter: wrong numbers, of which a caller had better hear.
ir::value kernel_lowering::emit_index(node_id n, scope& at, bool lane0) {
  if (!at.bound.has(g.ordinal(n))) throw ir::bad_ir("index " + index_text(n) + " outside of its loop");
  scope* loop = &at;
  while (loop->parent != nullptr && loop->parent->bound.has(g.ordinal(n))) loop = loop->parent;  // out of guards
  const ir::value result = lane0 || loop->lane != n ? loop->block->counter() : loop->block->lanes();
  loop->values[key(n, lane0)] = result;
  return result;
}

ir::access kernel_lowering::subscripts_of(std::int32_t buffer_id, const std::vector<node_id>& subscripts, scope& s,
                                          std::vector<ir::value>& list) {
  const int lane = s.lane == no_node ? -1 : g.ordinal(s.lane);
  const auto in_lanes = [&](node_id e) { return lane >= 0 && g.free[e].has(lane); };
  bool row = !subscripts.empty() && in_lanes(subscripts.back());
  for (std::size_t d = 0; d + 1 < subscripts.size(); ++d) row = row && !in_lanes(subscripts[d]);
  if (row) {
    const line l = split_affine(g, subscripts.back(), s.lane);
    row = l.affine && l.slope == 1;
  }
  ir::access how = ir::access::uniform;
  for (const node_id e : subscripts) {
    if (in_lanes(e)) how = ir::access::gather;
    list.push_back(emit(e, s, row));
  }
  if (row) how = buffer(buffer_id).unit_inner ? ir::access::contiguous : ir::access::strided;
  return how;
}

// A condition without what holds anyway.
node_id kernel_lowering::not_assumed(node_id condition) {
  if (is_true(g, condition)) return condition;
  flat<node_id> list;
  deltas::conjuncts(g, condition, list);
  node_id left = truth(g, true);
  for (const node_id c : list)
    if (!assumed.contains(c) && !plan::ends_within(known, c)) left = conjunction(g, left, c);
  return left;
}

// Lanes along a row, a fixed number of elements or a fixed part of one apart: 2 * i + u, (i + u) / 2 where the place of
// lane 0 within its pair is known, and u - i.
std::optional<ir::lane_pattern> kernel_lowering::deinterleaving_of(std::int32_t id,
                                                                   const std::vector<node_id>& subscripts,
                                                                   const scope& at) {
  constexpr std::int64_t most = tuning::expression::most_apart;
  if (at.lane == no_node || subscripts.empty() || !buffer(id).unit_inner) return std::nullopt;
  const int lane = g.ordinal(at.lane);
  for (std::size_t d = 0; d + 1 < subscripts.size(); ++d)
    if (g.free[subscripts[d]].has(lane)) return std::nullopt;
  // The one term of a sum that has lanes.
  const auto in_lanes = [&](const linear& l) -> const linear::term* {
    const linear::term* found = nullptr;
    for (const linear::term& t : l.terms)
      if (t.factor != 0 && g.free[t.node].has(lane)) {
        if (found != nullptr) return nullptr;
        found = &t;
      }
    return found;
  };
  linear place;
  collect(g, subscripts.back(), 1, place);
  const linear::term* t = in_lanes(place);
  if (t == nullptr) return std::nullopt;
  if (t->node == at.lane) {
    if (t->factor != -1 && (t->factor < 2 || t->factor > most)) return std::nullopt;
    return ir::lane_pattern{static_cast<std::int32_t>(t->factor), 1, 0};
  }
  const node_id low = g.arg(at.lane, 0);
  if (t->factor != 1 || g.kind(t->node) != op::quotient || !linears::divides_by_constant(g, t->node) ||
      aligned != at.lane || !is_constant(g, low))
    return std::nullopt;
  const std::int64_t repeat = g[g.arg(t->node, 1)].attribute;
  linear inner;
  collect(g, g.arg(t->node, 0), 1, inner);
  const linear::term* x = in_lanes(inner);
  if (x == nullptr || x->node != at.lane || x->factor < 1 || x->factor > most || repeat > 2 * most ||
      aligned_lanes % repeat != 0)
    return std::nullopt;
  for (const linear::term& other : inner.terms)
    if (&other != x && other.factor != 0) return std::nullopt;
  const std::int64_t first = x->factor * g[low].attribute + inner.constant;
  return ir::lane_pattern{static_cast<std::int32_t>(x->factor), static_cast<std::int32_t>(repeat),
                          static_cast<std::int32_t>(((first % repeat) + repeat) % repeat)};
}

ir::value kernel_lowering::emit_load(node_id n, scope& at) {
  const node_id tensor = g.arg(n, 0);
  const std::int32_t id = held_as(code, buffers.at(tensor), g.type(n));
  std::vector<node_id> subscripts;
  for (int d = 0; d + 1 < g[n].count; ++d) {
    const node_id e = g.arg(n, 1 + d);
    subscripts.push_back(make(g, op::sub, e, plan::low_of(g, tensor, d)));
  }
  const node_id inside = not_assumed(plan::inside_condition(g, n));
  const ir::value mask = is_true(g, inside) ? ir::none : emit(inside, at);
  std::vector<ir::value> list;
  if (const auto found = deinterleaving_of(id, subscripts, at)) {
    const ir::lane_pattern apart = mask == ir::none ? whole_groups(n, *found) : *found;
    subscripts.back() = make(g, op::sub, subscripts.back(), integer(g, apart.skew));
    for (const node_id e : subscripts) list.push_back(emit(e, at, true));
    return at.block->load_deinterleaved(id, g.type(n), std::move(list), apart, mask);
  }
  const ir::access how = subscripts_of(id, subscripts, at, list);
  return at.block->load(id, g.type(n), std::move(list), how, mask);
}

}  // namespace sheaf::inline v0_1::lower
