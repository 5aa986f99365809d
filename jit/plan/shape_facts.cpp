#include <sheaf/jit/plan/shape_facts.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/shapes/narrow.hpp>

namespace sheaf::inline v0_1::plan {

// Of those that decisions know bounds are known where an extent is (shapes/open_decisions.hpp).
amount applied(op kind, const amount* of) {
  switch (kind) {
    case op::add: return of[0] + of[1];
    case op::sub: return of[0] - of[1];
    case op::mul: return of[0] * of[1];
    case op::minimum: return min(of[0], of[1]);
    case op::maximum: return max(of[0], of[1]);
    default: return shapes::applied(row(kind).integer, of[0], of[1], of[2]);
  }
}

namespace {

struct traced {
  using number = amount;
  static number larger(const number& a, const number& b) { return max(a, b); }
  static number applied(op kind, const number* of) { return plan::applied(kind, of); }
  static number wrapped(shapes::integer_function to, const number& a) { return shapes::applied(to, a, 0, 0); }
};
struct integers {
  using number = std::int64_t;
  static number larger(number a, number b) { return std::max(a, b); }
  static number applied(op kind, const number* of) { return row(kind).integer(of[0], of[1], of[2]); }
  static number wrapped(shapes::integer_function to, number a) { return to(a, 0, 0); }
};

template <class Number>
using known_numbers = std::unordered_map<node_id, std::optional<Number>>;

// Of constants and of what extent(tensor, dimension) gives; free indices at one point of their ranges. Without these a
// node has one number, which `done` keeps: others may refer to it more than once.
template <class In, class Extent>
std::optional<typename In::number> evaluated(const graph& g, node_id n, facts::point at, const Extent& extent,
                                             known_numbers<typename In::number>& done);

template <class In, class Extent>
std::optional<typename In::number> evaluated_once(const graph& g, node_id n, facts::point at, const Extent& extent,
                                                  known_numbers<typename In::number>& done) {
  using number = typename In::number;
  const auto inner = [&](int k) { return evaluated<In>(g, g.arg(n, k), at, extent, done); };
  switch (g.kind(n)) {
    case op::constant: return number(g[n].attribute);
    case op::index: {
      if (is_unbound(g, n)) return std::nullopt;
      const auto low = inner(0);
      if (at == facts::point::low || !low) return low;
      const auto high = inner(1);
      if (!high || at == facts::point::high) return high ? std::optional(In::larger(*low, *high - 1)) : high;
      const number both[3] = {*low + In::larger(*low, *high - 1), number(2), number(0)};
      return In::applied(op::quotient, both);
    }
    case op::extent:
      return extent(static_cast<std::size_t>(g[g.arg(n, 0)].attribute), static_cast<std::size_t>(g[n].attribute));
    default: break;
  }
  if (!is_elementwise(g.kind(n)) || is_floating(g.type(n)) || row(g.kind(n)).integer == nullptr) return std::nullopt;
  number list[3] = {number(0), number(0), number(0)};
  for (int k = 0; k < g[n].count; ++k) {
    if (is_floating(g.type(g.arg(n, k)))) return std::nullopt;
    const auto known = inner(k);
    if (!known) return std::nullopt;
    list[k] = *known;
  }
  const number all = In::applied(g.kind(n), list);
  const auto narrow = shapes::wrapping(g.kind(n), g.type(n));
  return narrow == nullptr ? all : In::wrapped(narrow, all);
}

template <class In, class Extent>
std::optional<typename In::number> evaluated(const graph& g, node_id n, facts::point at, const Extent& extent,
                                             known_numbers<typename In::number>& done) {
  if (!g.free[n].empty() || !is_elementwise(g.kind(n))) return evaluated_once<In>(g, n, at, extent, done);
  if (const auto found = done.find(n); found != done.end()) return found->second;
  const auto made = evaluated_once<In>(g, n, at, extent, done);
  done.emplace(n, made);
  return made;
}

}  // namespace

std::optional<amount> facts::number(node_id n, point at) const {
  const auto extent = [&](std::size_t input, std::size_t d) -> std::optional<amount> {
    if (input >= call_.inputs.size() || d >= call_.inputs[input].extents.size()) return std::nullopt;
    return call_.inputs[input].extents[d];
  };
  return evaluated<traced>(g_, n, at, extent, known_);
}

std::optional<std::int64_t> facts::exact(node_id n) const {
  if (!g_.free[n].empty()) return std::nullopt;
  const auto extent = [&](std::size_t input, std::size_t d) -> std::optional<std::int64_t> {
    if (input >= call_.inputs.size() || d >= call_.inputs[input].extents.size()) return std::nullopt;
    return static_cast<std::int64_t>(call_.inputs[input].extents[d].estimate());
  };
  known_numbers<std::int64_t> done;
  return evaluated<integers>(g_, n, point::low, extent, done);
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
    if (other != idx && g_.free[idx].has(g_.ordinal(other))) outer *= trips({other, &about});
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
