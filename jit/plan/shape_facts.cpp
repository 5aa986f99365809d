#include <sheaf/jit/plan/shape_facts.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/make.hpp>

namespace sheaf::inline v0_1::plan {

std::optional<std::int64_t> facts::number(node_id n, end at) const {
  switch (g_.kind(n)) {
    case op::constant: return g_[n].attribute;
    case op::index: {
      if (is_unbound(g_, n)) return std::nullopt;
      const auto low = number(g_.arg(n, 0), at);
      if (at == end::low || !low) return low;
      const auto high = number(g_.arg(n, 1), at);
      return high ? std::optional(std::max(*low, *high - 1)) : high;
    }
    case op::extent: {
      const auto input = static_cast<std::size_t>(g_[g_.arg(n, 0)].attribute);
      const auto dimension = static_cast<std::size_t>(g_[n].attribute);
      if (input >= call_.inputs.size() || dimension >= call_.inputs[input].extents.size()) return std::nullopt;
      return call_.inputs[input].extents[dimension];
    }
    default: break;
  }
  if (!is_elementwise(g_.kind(n)) || is_floating(g_.type(n)) || row(g_.kind(n)).integer == nullptr) return std::nullopt;
  std::int64_t list[3] = {0, 0, 0};
  for (int k = 0; k < g_[n].count; ++k) {
    if (is_floating(g_.type(g_.arg(n, k)))) return std::nullopt;
    const auto known = number(g_.arg(n, k), at);
    if (!known) return std::nullopt;
    list[k] = *known;
  }
  return row(g_.kind(n)).integer(list[0], list[1], list[2]);
}

// An index may walk a definition over another index that walks one over it, as slices of partial results do: what is
// being asked says nothing.
double facts::walked_extent(const asking& about) const {
  const node_id idx = about.idx;
  double found = 0;
  for (node_id n = 0; n < g_.size(); ++n) {
    if (g_.kind(n) != op::load) continue;
    for (int d = 0; d + 1 < g_[n].count; ++d) {
      if (g_.arg(n, 1 + d) != idx) continue;
      const node_id tensor = g_.arg(n, 0);
      if (g_.kind(tensor) == op::define) {
        found = std::max(found, trips({g_.arg(tensor, 1 + d), &about}));
      } else {
        const auto input = static_cast<std::size_t>(g_[tensor].attribute);
        if (input < call_.inputs.size())
          found = std::max(found, static_cast<double>(call_.inputs[input].extents[static_cast<std::size_t>(d)]));
      }
    }
  }
  return found;
}

double facts::trips(node_id idx) const { return trips(asking{idx, nullptr}); }

double facts::trips(const asking& about) const {
  const node_id idx = about.idx;
  for (const asking* a = about.because; a != nullptr; a = a->because)
    if (a->idx == idx) return 0;
  const auto size = [&](end at) -> std::optional<double> {
    const auto low = number(g_.arg(idx, 0), at), high = number(g_.arg(idx, 1), at);
    if (!low || !high) return std::nullopt;
    return static_cast<double>(std::max<std::int64_t>(*high - *low, 0));
  };
  if (const auto first = size(end::low); first && *first > 0) return *first;
  else if (const auto last = first ? size(end::high) : std::nullopt) return *last / 2;
  const double walked = walked_extent(about);
  if (walked == 0) return 64;
  double outer = 1;
  for (const node_id other : g_.indices)
    if (other != idx && g_.free[idx].has(g_.ordinal(other))) outer *= trips({other, &about});
  return std::clamp(walked / std::max(1.0, outer), std::min(16.0, walked), walked);
}

double facts::bytes(node_id tensor) const {
  const auto i = static_cast<std::size_t>(g_[tensor].attribute);
  if (g_.kind(tensor) != op::input || i >= call_.inputs.size()) return 0;
  double all = row(g_.type(tensor)).bytes;
  for (const std::int64_t n : call_.inputs[i].extents) all *= static_cast<double>(n);
  return all;
}

double facts::trips(const index_set& set) const {
  double product = 1;
  for (int o = 0; o < g_.indices.size(); ++o)
    if (set.has(o)) product *= trips(g_.indices[o]);
  return product;
}

}  // namespace sheaf::inline v0_1::plan
