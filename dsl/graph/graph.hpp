// The graph: a flat array of interned nodes. Arguments stand before the node that uses them, so ascending ids are a
// topological order; equal nodes are one node. Shown by tests/static/deltas.cpp.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

#include <sheaf/dsl/graph/element.hpp>
#include <sheaf/dsl/graph/flat.hpp>
#include <sheaf/dsl/graph/op.hpp>

namespace sheaf::inline v0_1 {

using node_id = std::int32_t;
using name_id = std::int32_t;
inline constexpr node_id no_node = -1;
inline constexpr std::int64_t dynamic = -1;  // an extent known only at run time

struct node {
  op kind = op::constant;
  element type = element::f32;
  std::int32_t count = 0;      // arguments
  std::int32_t first = 0;      // where they start in graph::args
  std::int64_t attribute = 0;  // by kind, see op.hpp
  std::int32_t ordinal = -1;   // of an index, in index_set
};

struct input_row {
  name_id name = 0;
  element type = element::f32;
  int rank = 0;
  std::int32_t first_extent = 0;  // in graph::static_extents; dynamic where not known
  const char* symbol = nullptr;   // of an input with an automatic name: what stands for it in C++ (type_tag)
};

// Two integer expressions without free indices that must agree before a launch.
struct constraint {
  node_id left = no_node;
  node_id right = no_node;
  name_id axis = 0;
};

// What must hold of a call's arguments before anything is written, beyond what subscripts and constraints say. It is
// worded "OPERATION: expected EXPECTED [limit], found [found] at i = ...".
enum class demanded : std::uint8_t { extents, data, elements };
struct demand {
  demanded of = demanded::extents;
  name_id operation = 0;
  name_id expected = 0;
  node_id wrong = no_node;  // a closed condition; or an `any`, whose bound indices are the positions that may be wrong
  node_id limit = no_node;  // in those indices: a number of what is expected; no_node: none
  node_id found = no_node;  // and the number found; no_node: nothing was
};

// What the user says the gradient of a definition by a tensor is. It is needed only while gradients are built.
struct gradient_rule {
  node_id definition = no_node;
  node_id by = no_node;
  node_id cotangent = no_node;     // a define node that stands for the definition's cotangent
  node_id contribution = no_node;  // a define node shaped like `by`
};

// A monoid that the program defines, associative and, unless it is in order, commutative. Its state is `width` values:
// one row each, one after the other, and a reduction with row k folds the whole state and is worth its value k.
struct own_monoid_row {
  name_id name = 0;
  element type = element::f32;
  node_id identity = no_node;  // a constant
  node_id combine = no_node;   // of operand nodes, constants and elementwise ops
  // d result / d element of operand 0, the element, and operand 1, the result. Of a wider state: value k of the
  // element's cotangent, of the element, the result and the cotangent of the result. no_node: the program does not say.
  node_id adjoint = no_node;
  std::int32_t component = 0;  // k
  std::int32_t width = 1;
  bool in_order = false;  // elements are combined in the order of the index
};

struct text_range {
  std::int32_t first = 0;
  std::int32_t size = 0;
};

class graph {
 public:
  flat<node> nodes;
  flat<node_id> args;
  flat<char> text;
  flat<text_range> names;
  flat<input_row> inputs;
  flat<std::int64_t> static_extents;
  flat<constraint> constraints;
  flat<demand> demands;
  flat<own_monoid_row> monoids;
  flat<gradient_rule> rules;
  flat<node_id> outputs;      // define nodes, in the order asked for
  // define nodes whose gradients were asked for: what they subscript is checked all the same
  flat<node_id> differentiated;
  flat<char> error;           // the first mistake found, as a sentence; empty where there is none
  flat<index_set> free;       // by node: the indices it depends on and does not bind
  flat<node_id> indices;      // by ordinal: the index nodes
  flat<std::int32_t> spare;   // ordinals of abandoned indices
  int most_indices = index_set::of_program;

  constexpr const node& operator[](node_id id) const { return nodes.items[id]; }
  constexpr node_id arg(node_id id, int k) const { return args.items[nodes.items[id].first + k]; }
  constexpr int size() const { return nodes.size(); }
  constexpr op kind(node_id id) const { return nodes.items[id].kind; }
  constexpr element type(node_id id) const { return nodes.items[id].type; }

  constexpr node_id intern(op kind, element type, std::int64_t attribute, const node_id* list, int count) {
    const std::uint32_t slot = find(kind, type, attribute, list, count);
    if (there(slot) != no_node) return there(slot);
    if (kind == op::index && indices_left() == 0)
#ifdef __cpp_exceptions
      throw std::length_error(most_indices == index_set::of_program ? "a program of more than 256 indices"
                                                                    : "a plan of more than 512 indices");
#else
      std::abort();
#endif
    const node_id id = nodes.push({kind, type, count, args.size(), attribute, -1});
    for (int i = 0; i < count; ++i) args.push(list[i]);
    free.push(free_of(id));
    memo_epoch.push(0);
    memo_value.push(no_node);
    fallible.push(-1);
    table_.items[static_cast<int>(slot)] = id;
    if (2 * nodes.size() > table_.size()) fill_table(2 * table_.size());
    return id;
  }
  // How many indices there may be besides.
  constexpr int indices_left() const { return most_indices - indices.size() + spare.size(); }
  // Nobody holds the nodes from `first` on: no new node is taken for one of them, and others get the ordinals of their
  // indices.
  constexpr void abandon_from(node_id first) {
    dead_.resize(nodes.size(), false);
    for (node_id id = first; id < nodes.size(); ++id) dead_.items[id] = true;
    spare.clear();
    for (int ordinal = 0; ordinal < indices.size(); ++ordinal)
      if (dead_.items[indices.items[ordinal]]) spare.push(ordinal);
    fill_table(table_.size());
  }
  // Is this node there already? Lets commutative ops reuse the other order.
  constexpr bool known(op kind, element type, const node_id* list, int count, std::int64_t attribute = 0) {
    return there(find(kind, type, attribute, list, count)) != no_node;
  }

  constexpr name_id known_name(const char* string, int length) const {
    for (int i = 0; i < names.size(); ++i)
      if (same_text(names[i], string, length)) return i;
    return -1;
  }
  constexpr name_id name(const char* string, int length) {
    if (const name_id known = known_name(string, length); known >= 0) return known;
    const text_range range{text.size(), length};
    for (int i = 0; i < length; ++i) text.push(string[i]);
    return names.push(range);
  }

  // An index's ordinal in index_set. Its name and serial are packed into the attribute.
  constexpr int ordinal(node_id index) const { return nodes.items[index].ordinal; }

  // Marks for one traversal: an entry counts only if its epoch is the current one, so nothing is ever cleared.
  flat<std::int32_t> memo_epoch;
  flat<node_id> memo_value;
  constexpr std::int32_t new_epoch() { return ++epoch_; }

  // Kept by may_fail in make.hpp: by node, 1 or 0, -1 where not asked yet.
  flat<signed char> fallible;
  // Kept by note_numbers_read in make.hpp: by place in static_extents, the largest number that subscripts the
  // dimension.
  flat<std::int64_t> largest_read;

  // The first rule of a definition, or -1.
  constexpr int rule_of(node_id definition) const {
    for (int r = 0; r < rules.size(); ++r)
      if (rules[r].definition == definition) return r;
    return -1;
  }

  // Do the constraints say that two extents agree, each with the next?
  constexpr bool constrained_equal(node_id a, node_id b) const {
    flat<node_id> reached;
    reached.push(a);
    for (int i = 0; i < reached.size(); ++i)
      for (const constraint& c : constraints) {
        if (c.left == reached[i] && !reached.contains(c.right)) reached.push(c.right);
        if (c.right == reached[i] && !reached.contains(c.left)) reached.push(c.left);
      }
    return reached.contains(b);
  }

  constexpr bool failed() const { return !error.empty(); }

 private:
  static constexpr std::uint32_t mix(std::uint32_t h, std::uint64_t v) {
    h ^= static_cast<std::uint32_t>(v ^ (v >> 32));
    h *= 0x9E3779B1u;
    return h ^ (h >> 15);
  }

  constexpr node_id there(std::uint32_t slot) const { return table_.items[static_cast<int>(slot)]; }
  constexpr std::uint32_t find(op kind, element type, std::int64_t attribute, const node_id* list, int count) {
    if (table_.empty()) table_.resize(256, no_node);
    std::uint32_t h = mix(static_cast<std::uint32_t>(kind) * 16 + static_cast<std::uint32_t>(type),
                          static_cast<std::uint64_t>(attribute));
    for (int i = 0; i < count; ++i) h = mix(h, static_cast<std::uint64_t>(list[i]));
    const std::uint32_t mask = static_cast<std::uint32_t>(table_.size()) - 1;
    for (h &= mask;; h = (h + 1) & mask) {
      const node_id id = table_.items[static_cast<int>(h)];
      if (id == no_node || same(id, kind, type, attribute, list, count)) return h;
    }
  }

  constexpr bool same(node_id id, op kind, element type, std::int64_t attribute, const node_id* list, int count) const {
    const node& n = nodes.items[id];
    if (n.kind != kind || n.type != type || n.attribute != attribute || n.count != count) return false;
    for (int i = 0; i < count; ++i)
      if (args.items[n.first + i] != list[i]) return false;
    return true;
  }

  constexpr int new_ordinal(node_id index) {
    if (indices.size() < most_indices) return indices.push(index);
    const int ordinal = spare.back();
    spare.pop();
    indices.items[ordinal] = index;
    return ordinal;
  }
  constexpr void fill_table(int size) {
    table_.clear();
    table_.resize(size, no_node);
    for (node_id id = 0; id < nodes.size(); ++id) {
      const node& n = nodes.items[id];
      if (id < dead_.size() && dead_.items[id]) continue;
      const std::uint32_t slot = find(n.kind, n.type, n.attribute, args.data() + n.first, n.count);
      table_.items[static_cast<int>(slot)] = id;
    }
  }

  constexpr index_set free_of(node_id id) {
    const node& n = nodes.items[id];
    index_set set;
    if (n.kind == op::define) return set;
    for (int i = 0; i < n.count; ++i) set |= free.items[args.items[n.first + i]];
    if (n.kind == op::index) set.insert(nodes.items[id].ordinal = new_ordinal(id));
    if (n.kind == op::reduce)
      for (int i = 2; i < n.count; ++i) set.erase(ordinal(args.items[n.first + i]));
    return set;
  }

  constexpr bool same_text(text_range range, const char* string, int length) const {
    if (range.size != length) return false;
    for (int i = 0; i < length; ++i)
      if (text[range.first + i] != string[i]) return false;
    return true;
  }

  flat<std::int32_t> table_;
  flat<char> dead_;  // by node: was it abandoned? Not of those past its end
  std::int32_t epoch_ = 0;
};

}  // namespace sheaf::inline v0_1
