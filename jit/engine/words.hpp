// Words for run-time errors: names and texts of a graph. Private header.
#pragma once
#include <string>

#include <sheaf/dsl/graph/print.hpp>

namespace sheaf::inline v0_1::jit {

inline std::string text_of(const flat<char>& text) { return {text.data(), static_cast<std::size_t>(text.size())}; }

inline std::string name_text(const graph& g, name_id name) {
  const text_range range = g.names[name];
  return {g.text.data() + range.first, static_cast<std::size_t>(range.size)};
}

inline std::string tensor_text(const graph& g, node_id tensor) {
  const auto at = static_cast<int>(g[tensor].attribute);
  return name_text(g, g.kind(tensor) == op::input ? g.inputs[at].name : at);
}

// The `k`-th thing of a program's call: its inputs, then its outputs.
inline std::string slot_text(const graph& g, int slot) {
  return slot < g.inputs.size() ? name_text(g, g.inputs[slot].name)
                                : tensor_text(g, g.outputs[slot - g.inputs.size()]);
}

}  // namespace sheaf::inline v0_1::jit
