// Keys in their order: a stage (way `order`) that sorts them, and what it made as the fold of an index sees it. Of
// equal keys the one at the first place comes first; a NaN, which is in no order, is left out. Shown by
// tests/jit/sorted_keys.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

struct keys_to_sort {
  node_id key, t;      // a value of the index t alone
  node_id low, count;  // its places: `count` from `low` on
};

struct sorted_keys {
  node_id places = no_node;  // count entries, of which the first `numbers` are places of t in the order of their keys,
                             // as many on the way, and `numbers`
  node_id keys = no_node;    // the same of the keys
  node_id count = no_node, numbers = no_node;

  node_id place(graph& g, node_id n) const;  // of the n-th key
  node_id key(graph& g, node_id n) const;    // which may be beyond the last one
};

// Stages that sort where `when` holds; those of an earlier fold of the same keys, where there are such.
sorted_keys sorted(const context& c, const keys_to_sort& all, node_id when);

}  // namespace sheaf::inline v0_1::plan
