// Reductions: accumulators before the loops, one combine inside for each reduction that shares them, folds after.
#include <algorithm>
#include <memory>

#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/plan/schedule.hpp>

namespace sheaf::lower {

namespace {

// Ranges that depend on another bound index run inside it; the lanes run innermost.
std::vector<node_id> loop_order(const graph& g, std::vector<node_id> list, node_id lane) {
  std::vector<node_id> sorted;
  if (lane != no_node) std::erase(list, lane);
  while (!list.empty()) {
    const auto free_of_others = [&](node_id idx) {
      return std::none_of(list.begin(), list.end(), [&](node_id o) { return o != idx && g.free[idx].has(g.ordinal(o)); });
    };
    auto next = std::find_if(list.begin(), list.end(), free_of_others);
    if (next == list.end()) next = list.begin();
    sorted.push_back(*next);
    list.erase(next);
  }
  if (lane != no_node) sorted.push_back(lane);
  return sorted;
}

element accumulated(element type) { return type == element::f16 || type == element::bf16 ? element::f32 : type; }

// The same reduction with a bound index under a name that nothing in the program has, so nothing inside captures it.
node_id renamed(graph& g, node_id n, node_id idx, plan::trust& trusted) {
  const node_id fresh = plan::fresh_index(g, idx, g.arg(idx, 0), g.arg(idx, 1));
  plan::replacement put(g);
  put.add(idx, fresh);
  std::vector<node_id> indices;
  for (const node_id b : plan::bound_indices(g, n)) indices.push_back(put(b));
  plan::trust_alike(g, n, put, trusted);
  return plan::intern_reduce(g, monoid_of(g, n), g.type(n), put(g.arg(n, 0)), put(g.arg(n, 1)), indices);
}

}  // namespace

// Are the reductions inside n that run outside its loops known already, and is all it reads stored?
bool kernel_lowering::computed_outside(node_id n, scope& at) {
  bool ready = true;
  plan::for_each_node(g, n, [&](node_id q) {
    if (g.kind(q) == op::load && pending.contains(g.arg(q, 0))) ready = false;
    if (q != n && g.kind(q) == op::reduce && g.free[q].within(at.bound) && !find(q, at, false)) ready = false;
  });
  return ready;
}

// Reductions of this kernel over the same indices at the same place, which neither wait for n nor n for them, and run in
// the lanes that n runs in.
std::vector<node_id> kernel_lowering::companions(node_id n, node_id lane, scope& at) {
  std::vector<node_id> list{n};
  const auto bound = plan::bound_indices(g, n);
  const node_id lanes = lane != no_node ? lane : at.lane;  // one of another stage may have a range that depends on them
  const auto consider = [&](node_id q) {
    if (g.kind(q) != op::reduce || std::find(list.begin(), list.end(), q) != list.end()) return;
    if (plan::bound_indices(g, q) != bound || !g.free[q].within(at.bound) || find(q, at, false)) return;
    if (lanes != no_node && !plan::may_vectorise(g, q, lanes)) return;
    if (&place_of(q, at) == &at && computed_outside(q, at)) list.push_back(q);
  };
  for (const stage* s : stages) plan::for_each_node(g, s->body, consider);
  return list;
}

ir::value kernel_lowering::reduction(node_id n, scope& at) {
  for (const node_id idx : plan::bound_indices(g, n))
    if (at.bound.has(g.ordinal(idx))) {
      const auto [entry, fresh] = plan.renamed.try_emplace(n, no_node);
      if (fresh) entry->second = renamed(g, n, idx, plan.trusted);
      return emit(plan.renamed.at(n), at);
    }
  plan::for_each_node(g, n, [&](node_id q) {
    if (q != n && g.kind(q) == op::reduce && g.free[q].within(at.bound)) emit(q, at);
  });
  const node_id lane = at.lane == no_node ? plan::lane_of(g, known, n) : no_node;
  const std::vector<node_id> all = companions(n, lane, at);
  const bool vector = at.lane != no_node || lane != no_node;
  std::vector<ir::value> cells;
  for (const node_id q : all) {
    const bool position = row(monoid_of(g, q)).position;
    const bool wide = at.lane == no_node ? vector : g.free[q].has(g.ordinal(at.lane));
    cells.push_back(at.block->accumulator(accumulated(position ? g.type(g.arg(q, 0)) : g.type(q)), monoid_of(g, q), wide));
  }
  std::vector<std::unique_ptr<scope>> nest;
  scope* inner = &at;
  for (const node_id idx : loop_order(g, plan::bound_indices(g, n), lane)) {
    const int lanes = idx == lane ? plan::lanes_for(g, known, n, lane, false) : 1;
    nest.push_back(std::make_unique<scope>(*inner, open(*inner, idx, lanes)));
    inner = nest.back().get();
    bind(*inner, idx, lanes);
  }
  if (at.lane != no_node) prefetch_gathered(all, *inner);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const node_id q = all[i], condition = g.arg(q, 1);
    const bool narrow = accumulated(g.type(g.arg(q, 0))) != g.type(g.arg(q, 0));
    const node_id body = narrow ? cast_to(g, element::f32, g.arg(q, 0)) : g.arg(q, 0);
    node_id position = no_node;
    if (row(monoid_of(g, q)).position) position = plan::bound_indices(g, q).front();
    const bool lanes_decide = inner->lane != no_node && g.free[condition].has(g.ordinal(inner->lane));
    if (is_true(g, condition) || lanes_decide) {
      const ir::value mask = lanes_decide ? emit(condition, *inner) : ir::none;
      const ir::value x = emit(body, *inner);
      const ir::value where = position == no_node ? ir::none : emit(position, *inner);
      inner->block->combine(cells[i], x, mask, where);
    } else {
      const ir::value test = emit(condition, *inner);
      scope guarded(*inner, inner->block->guard(test));
      const ir::value x = emit(body, guarded);
      const ir::value where = position == no_node ? ir::none : emit(position, guarded);
      guarded.block->combine(cells[i], x, ir::none, where);
      guarded.close();
    }
  }
  while (!nest.empty()) {
    nest.back()->close();
    nest.pop_back();
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    ir::value result = at.lane == no_node && vector ? at.block->fold_lanes(cells[i]) : at.block->read(cells[i]);
    if (!row(monoid_of(g, all[i])).position && accumulated(g.type(all[i])) != g.type(all[i])) result = at.block->cast(g.type(all[i]), result);
    at.values[2 * std::int64_t{all[i]}] = result;
  }
  return at.values[2 * std::int64_t{n}];
}

}  // namespace sheaf::lower
