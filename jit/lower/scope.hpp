// Where values of a kernel are emitted: blocks under construction, one in the other, and what is bound in each.
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <sheaf/jit/ir/builder.hpp>

namespace sheaf::inline v0_1::lower {

struct range {
  ir::value low, high;
};

// A block under construction with what is bound in it. Values are looked up through the parents.
struct scope {
  scope(ir::block_builder& top) : block(&top), root(this) {}
  scope(scope& outer, ir::block_builder made)
      : own(std::move(made)),
        block(&*own),
        parent(&outer),
        root(outer.root),
        number(++root->made),
        bound(outer.bound),
        lane(outer.lane),
        cut(outer.cut),
        part(outer.part),
        rows_at_once(outer.rows_at_once) {
    root->open.insert(number);
  }
  // In the same block as another one, with bindings of its own beside those of `outer`; never closed.
  scope(scope& outer, ir::block_builder* shared)
      : block(shared), parent(&outer), root(outer.root), number(++root->made), bound(outer.bound), lane(outer.lane) {}
  scope(const scope&) = delete;

  std::optional<ir::block_builder> own;
  ir::block_builder* block;
  scope* parent = nullptr;
  scope* root;
  int number = 0, made = 0;  // of all scopes of the kernel; by the root: how many there were
  index_set bound;
  node_id lane = no_node;  // the index of the vector loop around
  node_id cut = no_node;   // the index of which the task takes a part, and that part
  const range* part = nullptr;
  bool whole = true;              // its loop runs over the whole range of its index
  bool before_tasks = false;      // no loop runs here: each task computes its own
  std::int64_t rows_at_once = 1;  // an iteration is for so many rows, the first of which is bound
  std::unordered_map<std::int64_t, ir::value> values;
  std::unordered_set<int> open;  // by the root: those that will stand after what is emitted around them now

  const range* part_of(node_id idx) const { return idx == cut ? part : nullptr; }
  void close() {
    block->close();
    root->open.erase(number);
  }
  bool is_open(int other) const { return root->open.contains(other); }
  void bind_to(const graph& g, node_id idx, ir::value x) {
    bound.insert(g.ordinal(idx));
    set(idx, x);
  }
  void set(node_id n, ir::value x) { values[2 * std::int64_t{n}] = x; }
};

}  // namespace sheaf::inline v0_1::lower
