#include <sheaf/jit/plan/shape_facts.hpp>

#include <algorithm>

#include <sheaf/jit/shapes/decisions.hpp>

namespace sheaf::inline v0_1::plan {

std::optional<amount> facts::number(node_id n, point at) const {
  const auto extent = [&](std::size_t input, std::size_t d) -> std::optional<amount> {
    if (input >= call_.inputs.size() || d >= call_.inputs[input].extents.size()) return std::nullopt;
    return call_.inputs[input].extents[d];
  };
  return shapes::evaluated<shapes::traced>(g_, n, at, extent, known_);
}

std::optional<std::int64_t> facts::exact(node_id n) const {
  if (!g_.free[n].empty()) return std::nullopt;
  const auto extent = [&](std::size_t input, std::size_t d) -> std::optional<std::int64_t> {
    if (input >= call_.inputs.size() || d >= call_.inputs[input].extents.size()) return std::nullopt;
    return static_cast<std::int64_t>(call_.inputs[input].extents[d].estimate());
  };
  shapes::known_numbers<std::int64_t> done;
  return shapes::evaluated<shapes::integers>(g_, n, point::low, extent, done);
}

struct facts::of_class {
  explicit of_class(const facts& call) : known(call.g_, call.call_) {
    int place = 0;
    for (tensor_facts& t : known.call_.inputs)
      for (amount& n : t.extents) {
        const auto usual = static_cast<std::int64_t>(n.usual());
        n = record.extent(place++, usual);
      }
  }
  shapes::decisions record{false};
  facts known;
};

const facts& facts::bits() const {
  // A GPU's exact plans are those of a call, and strict ones have its bits.
  if (call_.gpu || call_.overrides.determinism == determinism::strict) return *this;
  if (bits_ == nullptr) {
    const auto differs = [](const amount& n) { return !n.is_of_class() && n.usual() != n.estimate(); };
    const bool any = std::ranges::any_of(
        call_.inputs, [&](const tensor_facts& t) { return std::ranges::any_of(t.extents, differs); });
    if (!any) return *this;
    bits_ = std::make_shared<of_class>(*this);
  }
  return bits_->known;
}

bool facts::irregular() const {
  const auto open = [](const tensor_facts& t) {
    return std::ranges::any_of(t.extents, [](const amount& n) { return n.is_open(); });
  };
  return std::ranges::any_of(call_.inputs, open);
}

// An index may walk a definition over another index that walks one over it, as slices of partial results do: what is
// being asked says nothing.
amount facts::walked_extent(const asking& about) const {
  const node_id idx = about.idx;
  amount found = 0;
  for (node_id n = 0; n < g_.size(); ++n) {
    if (g_.kind(n) != op::load) continue;
    for (int d = 0; d + 1 < g_[n].count; ++d) {
      if (g_.arg(n, 1 + d) != idx) continue;
      const node_id tensor = g_.arg(n, 0);
      if (g_.kind(tensor) == op::define) {
        found = max(found, trips({g_.arg(tensor, 1 + d), &about}));
      } else {
        const auto input = static_cast<std::size_t>(g_[tensor].attribute);
        if (input < call_.inputs.size()) found = max(found, call_.inputs[input].extents[static_cast<std::size_t>(d)]);
      }
    }
  }
  return found;
}

// Has each place of the one index a row of its own that the other walks, as where it chooses how long the row is? Such
// ranges do not share an extent.
bool facts::has_rows_of(node_id of, node_id idx) const {
  bool all = true, some = false;
  for (node_id n = 0; n < g_.size() && all; ++n) {
    if (g_.kind(n) != op::load) continue;
    bool walks = false, apart = false;
    for (int d = 0; d + 1 < g_[n].count; ++d) walks |= g_.arg(n, 1 + d) == idx, apart |= g_.arg(n, 1 + d) == of;
    some |= walks && apart, all = !walks || apart;
  }
  return all && some;
}

amount facts::trips(node_id idx) const { return trips(asking{idx, nullptr}); }

amount facts::trips(const asking& about) const {
  const node_id idx = about.idx;
  for (const asking* a = about.because; a != nullptr; a = a->because)
    if (a->idx == idx) return 0;
  const auto size = [&](point at) -> std::optional<amount> {
    const auto low = number(g_.arg(idx, 0), at), high = number(g_.arg(idx, 1), at);
    if (!low || !high) return std::nullopt;
    return max(*high - *low, 0);
  };
  // Ranges that differ from place to place have the size of the one in the middle: of prefixes half of all, of windows
  // that end with the tensor the whole window.
  const bool differs = !g_.free[g_.arg(idx, 0)].empty() || !g_.free[g_.arg(idx, 1)].empty();
  if (const auto middle = differs ? size(point::middle) : std::nullopt; middle && *middle > 0) return *middle;
  if (const auto first = size(point::low); first && (!differs || *first > 0)) return *first;
  else if (const auto last = first ? size(point::high) : std::nullopt) return *last / 2;
  const amount walked = walked_extent(about);
  if (walked == 0) return 64;
  amount outer = 1;
  for (const node_id other : g_.indices)
    if (other != idx && g_.free[idx].has(g_.ordinal(other)) && !(for_groups() && has_rows_of(other, idx)))
      outer *= trips({other, &about});
  return min(max(walked / max(1, outer), min(16, walked)), walked);
}

amount facts::bytes(node_id tensor) const {
  const auto i = static_cast<std::size_t>(g_[tensor].attribute);
  if (g_.kind(tensor) != op::input || i >= call_.inputs.size()) return 0;
  amount all = row(g_.type(tensor)).bytes;
  for (const amount& n : call_.inputs[i].extents) all *= n;
  return all;
}

amount facts::trips(const index_set& set) const {
  amount product = 1;
  for (int o = 0; o < g_.indices.size(); ++o)
    if (set.has(o)) product *= trips(g_.indices[o]);
  return product;
}

}  // namespace sheaf::inline v0_1::plan
