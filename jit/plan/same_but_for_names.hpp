// Expressions that compute the same with other indices over the same ranges. Shown by tests/jit/products.cpp.
#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include <sheaf/dsl/graph/linear.hpp>

namespace sheaf::inline v0_1::plan {

// Are two expressions one but for the names of their indices?
class same_but_for_names {
 public:
  explicit same_but_for_names(const graph& g) : g_(&g) {}
  bool operator()(node_id a, node_id b) {
    if (g_->kind(a) == op::index || g_->kind(b) == op::index) return is_index(a, b);
    if (a == b && g_->free[a].empty()) return true;
    if (g_->kind(a) != g_->kind(b) || g_->type(a) != g_->type(b) || (*g_)[a].count != (*g_)[b].count ||
        ((*g_)[a].attribute != (*g_)[b].attribute && g_->kind(a) != op::extent))
      return false;
    if (g_->kind(a) == op::extent) return known_equal(*g_, a, b);
    if (g_->kind(a) == op::define) return a == b;
    if (!seen_.insert({a, b}).second) return true;
    for (int k = 0; k < (*g_)[a].count; ++k)
      if (!(*this)(g_->arg(a, k), g_->arg(b, k))) return false;
    return true;
  }
  // What the second has for an index of the first.
  node_id named(node_id idx) const { return names_.at(idx); }
  // Are only bound indices named otherwise? free: those of the first that are not.
  bool keeps(const index_set& free) const {
    return std::ranges::all_of(names_, [&](const auto& pair) {
      return pair.first == pair.second || !free.has(g_->ordinal(pair.first));
    });
  }

 private:
  bool is_index(node_id a, node_id b) {
    if (g_->kind(a) != g_->kind(b)) return false;
    const auto [at, fresh] = names_.try_emplace(a, b);
    if (!fresh) return at->second == b;
    if (!taken_.insert(b).second) return false;
    return (*this)(g_->arg(a, 0), g_->arg(b, 0)) && (*this)(g_->arg(a, 1), g_->arg(b, 1));
  }

  const graph* g_;
  std::map<node_id, node_id> names_;
  std::unordered_set<node_id> taken_;
  std::set<std::pair<node_id, node_id>> seen_;
};

}  // namespace sheaf::inline v0_1::plan
