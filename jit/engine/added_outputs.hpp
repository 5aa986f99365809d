// Outputs that a call adds to what is there, `y += view`: y is then before(...) + y(...), where `before` is an input
// that lies where y lies. Shown by tests/numeric/updates.cpp. Private header.
#pragma once
#include <span>

#include <sheaf/dsl/graph/graph.hpp>

namespace sheaf::inline v0_1::jit {

// outputs: by number, in order. The inputs come after those of the program, in the same order.
graph added_to(const graph& g, std::span<const int> outputs);

}  // namespace sheaf::inline v0_1::jit
