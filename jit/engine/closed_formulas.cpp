#include <sheaf/jit/engine/closed_formulas.hpp>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/shapes/narrow.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

constexpr std::int64_t is_extent = -2;

}  // namespace

int closed_formulas::put(const operation& o) {
  list_.push_back(o);
  return static_cast<int>(list_.size()) - 1;
}

int closed_formulas::add(node_id n) { return n != no_node && g_->free[n].empty() ? made(n) : -1; }

// As facts::exact evaluates: an index stands for its first value.
int closed_formulas::made(node_id n) {
  if (const auto at = known_.find(n); at != known_.end()) return at->second;
  const graph& g = *g_;
  int& place = known_[n] = -1;
  if (g.kind(n) == op::constant) return place = put({.a = g[n].attribute});
  if (g.kind(n) == op::index) {
    const int low = is_unbound(g, n) ? -1 : made(g.arg(n, 0));
    return known_[n] = low;
  }
  if (g.kind(n) == op::extent) {
    const auto input = static_cast<std::size_t>(g[g.arg(n, 0)].attribute), d = static_cast<std::size_t>(g[n].attribute);
    if (input >= places_.size() || d >= places_[input].size()) return -1;
    return place = put({.a = places_[input][d].place, .b = is_extent, .c = places_[input][d].times});
  }
  if (!is_elementwise(g.kind(n)) || is_floating(g.type(n)) || row(g.kind(n)).integer == nullptr) return -1;
  std::int64_t list[3] = {0, 0, 0};
  for (int k = 0; k < 3; ++k) {
    if (k < g[n].count && is_floating(g.type(g.arg(n, k)))) return -1;
    list[k] = k < g[n].count ? made(g.arg(n, k)) : put({});
    if (list[k] < 0) return -1;
  }
  const int all = put({row(g.kind(n)).integer, list[0], list[1], list[2]});
  const auto narrow = shapes::wrapping(g.kind(n), g.type(n));
  return known_[n] = narrow == nullptr ? all : put({narrow, all, all, all});
}

std::span<const std::int64_t> closed_formulas::values(std::span<const std::int64_t> extents) const {
  static thread_local std::vector<std::int64_t> values;
  if (values.size() < list_.size()) values.resize(list_.size());
  std::int64_t* const v = values.data();
  for (std::size_t k = 0; k < list_.size(); ++k) {
    const operation& o = list_[k];
    if (o.apply != nullptr)
      v[k] = o.apply(v[o.a], v[o.b], v[o.c]);
    else
      v[k] = o.b == is_extent ? extents[static_cast<std::size_t>(o.a)] * o.c : o.a;
  }
  return {v, list_.size()};
}

}  // namespace sheaf::inline v0_1::jit
