// The folds of rule `ordered keys`, once it is known that keys ascend, or they are sorted: of terms that are a range.
#pragma once
#include <vector>

#include <sheaf/jit/plan/algorithms/ordered/sorted_keys.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

// A comparison of a key, which depends on the index of the fold alone, and a value, which does not depend on it.
struct comparison {
  node_id key = no_node, value = no_node;
  bool below = false, above = false;  // keys that are less, or greater, are left out: both of an equality
  bool strict = false;                // and so are equal ones
  bool own = false;                   // the value is the key at the last place that the fold walks
  bool is_equality() const { return below && above; }
};

// The fold of `value` over t where all of `all` and `rest` hold; `count` keys from `low` on, of which it walks all, or
// those in the range of t.
struct ordered_fold {
  node_id reduce = no_node, t = no_node, value = no_node;
  node_id low = no_node, count = no_node;
  std::vector<comparison> all = {};
  node_id rest = no_node;
  bool walks_all(const graph& g) const { return is_closed(g, t); }
  // Is it a value of t and of nothing else?
  bool is_of_place(const graph& g, node_id e) const;
};

// So many bits has a place among `count` keys.
int bits_of_places(const facts& known, node_id count);

// What stage s has in place of the fold where `when` holds; keys: not sorted, if there are none.
node_id folded(const context& c, const stage& s, const ordered_fold& f, const sorted_keys& keys, node_id when);

}  // namespace sheaf::inline v0_1::plan
