#include <sheaf/jit/shapes/joined_extents.hpp>

#include <algorithm>
#include <numeric>

#include <sheaf/dsl/graph/make.hpp>

namespace sheaf::inline v0_1::shapes {

int place_of(const graph& g, node_id extent) {
  if (g.kind(extent) != op::extent || g.kind(g.arg(extent, 0)) != op::input) return -1;
  const auto input = static_cast<int>(g[g.arg(extent, 0)].attribute);
  return g.inputs[input].first_extent + static_cast<int>(g[extent].attribute);
}

int end_of(const graph& g, node_id idx) { return is_unbound(g, idx) ? -1 : place_of(g, g.arg(idx, 1)); }

namespace {

bool is_extent(const graph& g, node_id n) { return place_of(g, n) >= 0; }

}  // namespace

joined_extents::joined_extents(const graph& g, ties which)
    : of_(static_cast<std::size_t>(g.static_extents.size())),
      read_(of_.size()),
      stated_(g.static_extents.begin(), g.static_extents.end()) {
  std::iota(of_.begin(), of_.end(), 0);
  for (const constraint& c : g.constraints) {
    if (which == ties::equal && !(is_extent(g, c.left) && is_extent(g, c.right))) continue;
    std::vector<int> both;
    note(g, c.left, both), note(g, c.right, both);
    for (std::size_t k = 1; k < both.size(); ++k) join(both[0], both[k]);
  }
  for (std::size_t place = 0; place < of_.size(); ++place) {
    std::int64_t& size = stated_[static_cast<std::size_t>(of(static_cast<int>(place)))];
    if (size == dynamic) size = stated_[place];
  }
  for (const constraint& c : g.constraints)
    for (const auto& [one, other] : {std::pair{c.left, c.right}, std::pair{c.right, c.left}})
      if (is_extent(g, one) && g.kind(other) == op::constant)
        stated_[static_cast<std::size_t>(of(place_of(g, one)))] = g[other].attribute;
  std::vector<int> list;
  for (const node_id y : g.outputs) note(g, y, list);
  for (const int place : list) read_[static_cast<std::size_t>(of(place))] = true;
}

void joined_extents::join(int a, int b) {
  a = of(a), b = of(b);
  of_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
}

// The extents that it is made of.
void joined_extents::note(const graph& g, node_id n, std::vector<int>& list) const {
  std::vector<bool> seen(static_cast<std::size_t>(g.size()), false);
  std::vector<node_id> open{n};
  while (!open.empty()) {
    const node_id at = open.back();
    open.pop_back();
    if (at == no_node || seen[static_cast<std::size_t>(at)]) continue;
    seen[static_cast<std::size_t>(at)] = true;
    if (g.kind(at) == op::extent) {
      list.push_back(place_of(g, at));
    } else {
      for (int k = 0; k < g[at].count; ++k) open.push_back(g.arg(at, k));
    }
  }
}

}  // namespace sheaf::inline v0_1::shapes
