// What the surface is built with: nodes with the little that is known before they stand in the graph, and the words of
// mistakes. Shown by tests/reject.
#pragma once
#include <sheaf/dsl/graph/graph.hpp>
#include <sheaf/dsl/surface/fixed_string.hpp>

namespace sheaf::inline v0_1 {

// A node under construction. A weak one is made of literals only and takes the type of what it meets.
struct built {
  node_id id = no_node;
  bool weak = false;
};

// One address a type. Linear search among the few dozen types of a program beats hashing their names.
template <class>
SHEAF_HIDDEN inline constexpr char type_tag = 0;

SHEAF_HIDDEN inline constexpr int max_rank = 8;

// An index of a reduction, before its range is known.
struct bound_axis {
  node_id axis = no_node;  // unbound
  node_id low = no_node, high = no_node, step = no_node;
  node_id condition = no_node;
};

namespace detail {

// Appends to a program's error, or to nothing.
struct complaint {
  graph* to;
  constexpr complaint& operator<<(const char* s) {
    for (; to != nullptr && *s != 0; ++s) to->error.push(*s);
    return *this;
  }
  constexpr complaint& operator<<(std::int64_t v) { return *this << (sentence{} << v).text; }
  constexpr complaint& operator<<(int v) { return *this << static_cast<std::int64_t>(v); }
  constexpr complaint& operator<<(const sentence& s) { return *this << s.text; }
};

}  // namespace detail

}  // namespace sheaf::inline v0_1
