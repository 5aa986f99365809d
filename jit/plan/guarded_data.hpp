// Subscripts of data behind conditions, and in loops that data leaves empty: they are checked where they are evaluated.
// Output: violations whose condition says that the subscript is outside, too.
// Shown by tests/text/guarded_data.cpp.
#pragma once
#include <vector>

#include <sheaf/jit/plan/same_but_for_names.hpp>
#include <sheaf/jit/plan/violations.hpp>

namespace sheaf::inline v0_1::plan {

// Would a check of an expression fold again what the program folds?
class folding {
 public:
  explicit folding(const graph& g) : g_(g) {}
  bool in(node_id n);

 private:
  const graph& g_;
  std::unordered_map<node_id, bool> known_;
};

class guarded_data {
 public:
  // always: loads that are checked whatever guards them elsewhere.
  guarded_data(graph& g, const facts& known, const std::vector<node_id>& always);

  // Appends those of what is evaluated for the values of `indices`, but for what was found before.
  void find(node_id body, std::span<const node_id> indices, std::vector<violation>& found);

 private:
  bool is_alike(node_id a, node_id b, same_but_for_names& names) const;
  bool is_found(const violation& v, const std::vector<violation>& found) const;

  asked_loads asked_;
  folding folds_;
};

}  // namespace sheaf::inline v0_1::plan
