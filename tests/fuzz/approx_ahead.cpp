// Subscripts that kernels may check and the evaluator does not come to: in slices without rows. See approx.hpp.
#include <algorithm>

#include "approx.hpp"

namespace sheaf::fuzz {

// Of a reduction one of whose loops has no rows: what waits for none such and stands behind no condition.
void approximation::look_past(node_id reduce, const std::vector<node_id>& loops, std::size_t depth) {
  if (tired() || !is_true(g_, g_.arg(reduce, 1))) return;
  if (depth == loops.size()) return look(g_.arg(reduce, 0));
  const node_id idx = loops[depth];
  const bool known = !waits(g_.arg(idx, 0)) && !waits(g_.arg(idx, 1));
  const std::int64_t low = known ? value(g_.arg(idx, 0)).integer : 0, high = known ? value(g_.arg(idx, 1)).integer : 0;
  if (low >= high) {
    empty_.push_back(g_.ordinal(idx));
    look_past(reduce, loops, depth + 1);
    empty_.pop_back();
  }
  for (std::int64_t i = low; i < high && !tired(); ++i) {
    assign(g_.ordinal(idx), i);
    look_past(reduce, loops, depth + 1);
  }
}

bool approximation::waits(node_id n) const {
  return std::any_of(empty_.begin(), empty_.end(), [&](int o) { return g_.free[n].has(o); });
}

void approximation::look(node_id n) {
  ++steps_;
  const op kind = g_.kind(n);
  if (kind != op::tuple && !waits(n)) return void(value(n));
  if (kind == op::index) return;
  if (kind == op::reduce) {
    std::vector<node_id> loops;
    for (int k = 2; k < g_[n].count; ++k) loops.push_back(g_.arg(n, k));
    return look_past(n, loops, 0);
  }
  const bool guards = kind == op::select || kind == op::logical_and || kind == op::logical_or;
  for (int k = kind == op::load ? 1 : 0; k < (guards ? 1 : g_[n].count); ++k) look(g_.arg(n, k));
  if (kind == op::load) look_at_place(n);
}

void approximation::look_at_place(node_id load) {
  const node_id tensor = g_.arg(load, 0);
  const bool defined = g_.kind(tensor) == op::define;
  for (int d = 0; d + 1 < g_[load].count; ++d) {
    if (waits(g_.arg(load, 1 + d))) continue;
    const approximate_tensor* t = defined ? &of(tensor) : nullptr;
    const auto& extents = defined ? t->extents : inputs_[static_cast<std::size_t>(g_[tensor].attribute)]->extents;
    const approximate s = value(g_.arg(load, 1 + d));
    const std::int64_t place = s.integer - (defined ? t->lows[static_cast<std::size_t>(d)] : 0);
    if (!s.sure() || place < 0 || place >= extents[static_cast<std::size_t>(d)]) unsure_subscript_ = true;
  }
}

}  // namespace sheaf::fuzz
