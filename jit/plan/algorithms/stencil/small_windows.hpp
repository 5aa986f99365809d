// Ranges of a few places, from one that outer indices move: those of a window, and of its transpose. Their number is a
// constant, or that of an extent: of a convolution's weights, say. Shown by tests/jit/stencil.cpp.
#pragma once
#include <span>

#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// What a chain of one op, of maxima or minima, takes.
void arms(const graph& g, node_id e, op kind, std::vector<node_id>& list);

// Of a window that is written out within a sum over more: its terms, which go into the accumulator one after the other,
// each where its condition holds. None of another reduction.
std::vector<node_id> chain_of(const graph& g, node_id reduce);
inline bool is_chain_of_terms(const graph& g, node_id reduce) {
  return (g[reduce].attribute & numerics::chain_of_terms) != 0;
}

// idx is base + v with v in [0, count), where count is 0 if no such is known. extent: what `count` follows from, which
// is `places` in this call.
struct window {
  node_id idx = no_node, base = no_node;
  std::int64_t count = 0;
  node_id extent = no_node;
  std::int64_t places = 0;
};

window window_of(const context& c, node_id idx);

// A term of windows that are written out, for a call whose extents have as many places as the windows: what lanes do
// not change is free of them, and loads that are inside by the number of places are proven to be.
node_id simplified_term(graph& g, node_id term, std::span<const window> windows, node_id lane);

}  // namespace sheaf::inline v0_1::plan
