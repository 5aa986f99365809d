// Stages whose windows are written out. The lanes go along the last index in up to three loops: the first and the last
// groups of lanes, where stencil may be outside of the tensor and are masked, and between them the rest, where the
// conditions that decide it are known to hold.
#include <algorithm>
#include <cmath>

#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/kernels.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

using tuning::prefetch::stencil_bytes, tuning::stencil::most_rows;

struct bounds {
  node_id low = no_node, high = no_node;  // of the lanes; none: unbounded
};

node_id sum_of(graph& g, const linear& l, const linear::term* without) {
  node_id all = integer(g, l.constant);
  for (const linear::term& t : l.terms)
    if (&t != without && t.factor != 0) all = make(g, op::add, all, make(g, op::mul, t.node, integer(g, t.factor)));
  return all;
}

// Where a comparison of integers holds: lanes from low to high. Quotients of the lane by constants are undone.
bool solve(graph& g, node_id condition, node_id lane, bounds& r) {
  const op kind = g.kind(condition);
  if ((kind != op::less && kind != op::less_equal) || g.type(g.arg(condition, 0)) != element::i64) return false;
  linear l;  // not negative
  collect(g, g.arg(condition, 1), 1, l);
  collect(g, g.arg(condition, 0), -1, l);
  if (kind == op::less) l.constant -= 1;
  for (;;) {
    const linear::term* t = nullptr;
    for (const linear::term& each : l.terms) {
      if (each.factor == 0 || !g.free[each.node].has(g.ordinal(lane))) continue;
      if (t != nullptr) return false;
      t = &each;
    }
    if (t == nullptr) return false;
    const node_id rest = sum_of(g, l, t), by = integer(g, std::abs(t->factor));
    const bool rises = t->factor > 0;
    // rises: at least ceil(-rest / by), else at most floor(rest / by)
    const node_id up = make(g, op::sub, integer(g, t->factor - 1), rest);
    const node_id end = make(g, op::quotient, rises ? up : rest, by);
    if (t->node == lane) {
      (rises ? r.low : r.high) = rises ? end : make(g, op::add, end, integer(g, 1));
      return true;
    }
    if (g.kind(t->node) != op::quotient || !linears::divides_by_constant(g, t->node)) return false;
    const node_id x = g.arg(t->node, 0);
    const std::int64_t divisor = g[g.arg(t->node, 1)].attribute;
    linear next;  // x >= divisor * end, or x <= divisor * end + divisor - 1
    collect(g, x, rises ? 1 : -1, next);
    collect(g, end, rises ? -divisor : divisor, next);
    if (!rises) next.constant += divisor - 1;
    l = next;
  }
}

bool moves_with(const graph& g, node_id place, node_id row) {
  linear l;
  collect(g, place, 1, l);
  return std::ranges::any_of(
      l.terms, [&](const linear::term& t) { return t.factor != 0 && g.free[t.node].has(g.ordinal(row)); });
}

// The place of a window's first element: what is bound within the window at the low end of its range, but for padding.
node_id first_tap(graph& g, node_id place, const index_set& bound, node_id row) {
  for (const node_id idx : plan::indices_of(g, g.free[place])) {
    if (bound.has(g.ordinal(idx))) continue;
    std::vector<node_id> arms{g.arg(idx, 0)};
    if (g.kind(arms[0]) == op::maximum) arms = {g.arg(arms[0], 0), g.arg(arms[0], 1)};
    for (const node_id low : arms) {
      const node_id first = plan::with(g, place, idx, low);
      if (!moves_with(g, first, row) && low != arms.back()) continue;
      place = first;
      break;
    }
  }
  return place;
}

}  // namespace

// A comparison of places that lanes decide, as a sum without negative terms that is at most another: what decides
// whether a window has a point and whether that is inside of a tensor is then often the same, and asked once.
node_id kernel_lowering::collected(node_id n, const scope& at) {
  const op kind = g.kind(n);
  if (at.lane == no_node || aligned != at.lane) return n;
  if ((kind != op::less && kind != op::less_equal) || g.type(g.arg(n, 0)) != element::i64) return n;
  if (plan::holds(g, n, op::load)) return n;  // data may be any number: one more may not be greater
  linear gap;
  collect(g, g.arg(n, 1), 1, gap);
  collect(g, g.arg(n, 0), -1, gap);
  if (kind == op::less) gap.increase(gap.constant, 1, -1);
  if (gap.wrapped) return n;
  linear least, most;
  (gap.constant < 0 ? least : most).constant = std::abs(gap.constant);
  std::vector<linear::term> terms(gap.terms.begin(), gap.terms.end());
  std::ranges::sort(terms, {}, &linear::term::node);
  for (const linear::term& t : terms)
    if (t.factor != 0) (t.factor < 0 ? least : most).terms.push({t.node, std::abs(t.factor)});
  return make(g, op::less_equal, sum_of(g, least, nullptr), sum_of(g, most, nullptr));
}

void kernel_lowering::stencil(std::span<const stage* const> list, std::size_t depth, scope& at, const range* chunk) {
  for (std::size_t i = 0; i < list.size();) {
    const stage& first = *list[i];
    const node_id idx = first.loops[depth];
    const bool vector = idx == first.vector;
    std::size_t end = i + 1;
    for (; end < list.size(); ++end) {
      const stage& next = *list[end];
      bool fits = next.loops[depth] == idx && vector == (idx == next.vector) && (!vector || next.lanes == first.lanes);
      for (std::size_t j = i; fits && j < end; ++j) fits = plan::reads_only_at(g, next, *list[j], idx);
      if (!fits) break;
    }
    const auto group = list.subspan(i, end - i);
    i = end;
    if (vector) {
      row_of_stencil(group, at, chunk);
      continue;
    }
    scope inner(at, open(at, idx, 1));
    bind(inner, idx, 1);
    stencil(group, depth + 1, inner, chunk);
    inner.close();
  }
}

void kernel_lowering::row_of_stencil(std::span<const stage* const> list, scope& at, const range* chunk) {
  const stage& first = *list.front();
  const node_id lane = first.vector, low = g.arg(lane, 0), high = g.arg(lane, 1);
  const range whole = chunk != nullptr ? *chunk : range{emit(low, at), emit(high, at)};
  index_set known_here = at.bound;
  known_here.insert(g.ordinal(lane));
  std::unordered_set<node_id> solved;
  node_id from = low, to = high;
  const auto consider = [&](node_id condition) {
    flat<node_id> conditions;
    deltas::conjuncts(g, condition, conditions);
    for (const node_id c : conditions) {
      bounds r;
      if (!g.free[c].has(g.ordinal(lane)) || !g.free[c].within(known_here) || solved.contains(c) ||
          !solve(g, c, lane, r))
        continue;
      solved.insert(c);
      if (r.low != no_node && !known_less_equal(g, r.low, from)) from = make(g, op::maximum, from, r.low);
      if (r.high != no_node && !known_less_equal(g, to, r.high)) to = make(g, op::minimum, to, r.high);
    }
  };
  for (const stage* s : list) {
    std::vector<node_id> conditions;
    plan::for_each_node(g, s->body, [&](node_id n) {
      if (g.kind(n) == op::select) conditions.push_back(g.arg(n, 0));
      if (g.kind(n) == op::load) conditions.push_back(plan::inside_condition(g, n));
    });
    for (const node_id c : conditions) consider(c);
  }
  // A GPU's lanes are predicated anyway, and three loops take the registers of all of them.
  if (solved.empty() || known.call().gpu) return lanes_of_stencil(list, at, whole, true);
  // Between whole groups of lanes, counted from the low end.
  const node_id lanes = integer(g, first.lanes);
  const auto groups_before = [&](node_id place, std::int64_t more) {
    const node_id count =
        make(g, op::quotient, make(g, op::add, make(g, op::sub, place, low), integer(g, more)), lanes);
    return make(g, op::add, low, make(g, op::mul, count, lanes));
  };
  const node_id up = groups_before(from, first.lanes - 1);
  const node_id down = make(g, op::select, make(g, op::less_equal, high, to), high, groups_before(to, 0));
  ir::block_builder& b = *at.block;
  const ir::value above = b.emit(op::maximum, {whole.low, emit(up, at)});
  const ir::value begin = b.emit(op::minimum, {above, whole.high});
  const ir::value below = b.emit(op::minimum, {whole.high, emit(down, at)});
  const ir::value end = b.emit(op::maximum, {begin, below});
  if (from != low) lanes_of_stencil(list, at, {whole.low, begin}, false);
  assumed.swap(solved);
  lanes_of_stencil(list, at, {begin, end}, true);
  assumed.swap(solved);
  if (to != high) lanes_of_stencil(list, at, {end, whole.high}, false);
}

// A load as the row it is in, everything but a constant in its last subscript, and that constant.
std::pair<std::vector<node_id>, std::int64_t> kernel_lowering::row_of(node_id n) {
  std::vector<node_id> row;
  for (int d = 0; d + 1 < g[n].count; ++d) row.push_back(g.arg(n, d));
  linear place;
  collect(g, g.arg(n, g[n].count - 1), 1, place);
  const std::int64_t at = place.constant;
  place.constant = 0;
  row.push_back(sum_of(g, place, nullptr));
  return {std::move(row), at};
}

void kernel_lowering::find_stencilled(std::span<const stage* const> list, const scope& inner) {
  stencilled.clear();
  for (const stage* s : list)
    plan::for_each_node(g, s->body, [&](node_id n) {
      if (g.kind(n) != op::load || g[n].count < 2 || !g.free[n].has(g.ordinal(inner.lane)) ||
          !is_true(g, not_assumed(plan::inside_condition(g, n))))
        return;
      auto [row, at] = row_of(n);
      stencilled[std::move(row)].insert(at);
    });
}

// Stencils 2 i and 2 i + 1 are in the same elements: where the first and the last of a group are read, all of it may
// be.
ir::lane_pattern kernel_lowering::whole_groups(node_id n, ir::lane_pattern apart) {
  if (apart.step <= 1 || apart.repeat > 1) return apart;
  const auto [row, at] = row_of(n);
  const auto found = stencilled.find(row);
  const std::int64_t skew = (at % apart.step + apart.step) % apart.step, first = at - skew;
  if (found == stencilled.end() || !found->second.contains(first) || !found->second.contains(first + apart.step - 1))
    return apart;
  apart.whole = true;
  apart.skew = static_cast<std::int32_t>(skew);
  return apart;
}

// Prefetches the rows that windows reach some kilobytes later, as many as they move on by from a row of results to the
// next. The processor does not see rows that are read beside each other, and in part again, as one stream.
void kernel_lowering::prefetch_rows(std::span<const stage* const> list, scope& inner) {
  const stage& first = *list.front();
  if (first.indices.size() < 2) return;
  const node_id row = first.indices[first.indices.size() - 2];
  std::unordered_set<node_id> asked;
  const auto ask = [&](node_id n) {
    const node_id tensor = g.arg(n, 0);
    if (g[n].count < 3 || g.kind(tensor) != op::input || known.bytes(tensor) < known.call().on.from_memory() ||
        !buffer(buffers.at(tensor)).unit_inner)
      return;
    std::vector<node_id> place = plan::arguments(g, n, 1);
    const auto apart = deinterleaving_of(buffers.at(tensor), place, inner);
    node_id &across = place[place.size() - 2], &along = place.back();
    across = first_tap(g, across, inner.bound, row);
    linear walked;
    collect(g, across, 1, walked);
    std::int64_t slope = 0, slower = 1;  // rows that it moves on by, or how many rows of results it stays
    for (const linear::term& t : walked.terms) {
      if (t.factor == 0 || !g.free[t.node].has(g.ordinal(row))) continue;
      slope += t.factor;
      if (g.kind(t.node) == op::quotient && linears::divides_by_constant(g, t.node))
        slower = g[g.arg(t.node, 1)].attribute;
      else if (t.node != row)
        return;
    }
    if (apart && apart->step < 0) return;
    if ((!apart && along != inner.lane) || slope < 1 || slope > most_rows || !g.free[across].within(inner.bound))
      return;
    const std::int64_t step = apart ? apart->step : 1, repeat = apart ? apart->repeat : 1;
    const shapes::amount each =
        static_cast<double>(step) * known.trips(inner.lane) * sheaf::row(g.type(n)).bytes / static_cast<double>(repeat);
    const std::int64_t ahead = slower * -floor(stencil_bytes / (each * slope) * -1).typical();
    plan::replacement later(g);
    later.add(row, make(g, op::add, row, integer(g, ahead)));
    const node_id start = later(across);
    for (std::int64_t k = 0; k < slope; ++k)
      for (std::int64_t part = 0; part < step; ++part) {
        across = make(g, op::add, start, integer(g, k));
        const node_id first_lane = step > 1 ? make(g, op::mul, inner.lane, integer(g, step))
                                            : make(g, op::quotient, inner.lane, integer(g, repeat));
        along = make(g, op::add, first_lane, integer(g, part * first.lanes));
        if (!asked.insert(plan::load_at(g, tensor, place)).second) continue;
        std::vector<ir::value> subscripts;
        for (const node_id e : place) subscripts.push_back(emit(e, inner, true));
        // Of several stages the later ones walk the same rows again.
        if (list.size() == 1)
          inner.block->prefetch_l2(buffers.at(tensor), std::move(subscripts));
        else
          inner.block->prefetch(buffers.at(tensor), std::move(subscripts));
      }
  };
  for (const stage* s : list)
    plan::for_each_node(g, s->body, [&](node_id n) {
      if (g.kind(n) != op::load) return;
      for (int d = 1; d + 2 < g[n].count; ++d)
        if (!g.free[g.arg(n, d)].within(inner.bound) || g.free[g.arg(n, d)].has(g.ordinal(row))) return;
      ask(n);
    });
}

void kernel_lowering::lanes_of_stencil(std::span<const stage* const> list, scope& at, const range& part, bool most) {
  const stage& first = *list.front();
  for (const stage* s : list) pending.insert(s->define);  // another part stored its own elements alone
  scope inner(at, open(at, first.vector, first.lanes, &part));
  bind(inner, first.vector, first.lanes);
  aligned = first.vector;
  aligned_lanes = first.lanes;
  find_stencilled(list, inner);
  for (const stage* s : list) {
    const ir::value value = emit(s->body, inner);
    store(*s, value, inner);
    mark_stored(*s);
    const node_id own = plan::result_of(g, *s);
    // a later stage in this loop need not read it back
    for (const node_id n : {own, proven(g, own)}) inner.values[2 * std::int64_t{n}] = value;
  }
  if (most) prefetch_rows(list, inner);
  stencilled.clear();
  aligned = no_node;
  inner.close();
}

}  // namespace sheaf::inline v0_1::lower
