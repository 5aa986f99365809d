// The numbers of integer expressions of constants and extents.
// Shown by tests/jit/shapes.cpp.
#pragma once
#include <algorithm>
#include <optional>
#include <unordered_map>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/shapes/decisions.hpp>
#include <sheaf/jit/shapes/narrow.hpp>

namespace sheaf::inline v0_1::shapes {

// Of the range of an index.
enum class point : std::uint8_t { low, middle, high };

// What an operation on integers gives; of: three, of which it takes as many as it has. Of those that decisions know,
// bounds are known where an extent is (shapes/open_decisions.hpp).
inline amount applied(op kind, const amount* of) {
  switch (kind) {
    case op::add: return of[0] + of[1];
    case op::sub: return of[0] - of[1];
    case op::mul: return of[0] * of[1];
    case op::minimum: return min(of[0], of[1]);
    case op::maximum: return max(of[0], of[1]);
    default: return shapes::applied(row(kind).integer, of[0], of[1], of[2]);
  }
}

struct traced {
  using number = amount;
  static number larger(const number& a, const number& b) { return max(a, b); }
  static number applied(op kind, const number* of) { return shapes::applied(kind, of); }
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
std::optional<typename In::number> evaluated(const graph& g, node_id n, point at, const Extent& extent,
                                             known_numbers<typename In::number>& done);

template <class In, class Extent>
std::optional<typename In::number> evaluated_once(const graph& g, node_id n, point at, const Extent& extent,
                                                  known_numbers<typename In::number>& done) {
  using number = typename In::number;
  const auto inner = [&](int k) { return evaluated<In>(g, g.arg(n, k), at, extent, done); };
  switch (g.kind(n)) {
    case op::constant: return number(g[n].attribute);
    case op::index: {
      if (is_unbound(g, n)) return std::nullopt;
      const auto low = inner(0);
      if (at == point::low || !low) return low;
      const auto high = inner(1);
      if (!high || at == point::high) return high ? std::optional(In::larger(*low, *high - 1)) : high;
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
std::optional<typename In::number> evaluated(const graph& g, node_id n, point at, const Extent& extent,
                                             known_numbers<typename In::number>& done) {
  if (!g.free[n].empty() || !is_elementwise(g.kind(n))) return evaluated_once<In>(g, n, at, extent, done);
  if (const auto found = done.find(n); found != done.end()) return found->second;
  const auto made = evaluated_once<In>(g, n, at, extent, done);
  done.emplace(n, made);
  return made;
}

}  // namespace sheaf::inline v0_1::shapes
