// sum(s, a(t, s) * sum(e, g(t, e) * v(s, e))) where a stage before has y(t, e) = sum(s, a(t, s) * v(s, e)): it is
// sum(e, g(t, e) * y(t, e)), a row for each t instead of another sum for each pair. The gradient of a softmax asks for
// it. Shown by tests/jit/pair_tiles.cpp.
#pragma once
#include <functional>

#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// The same value by what is stored; none: nothing is. expanded: an expression without the values that rules store.
node_id interchanged(const context& c, node_id sum, const pair_tile_form& f,
                     const std::function<node_id(node_id)>& expanded);

}  // namespace sheaf::inline v0_1::plan
