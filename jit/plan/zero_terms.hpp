// The conditions without any of which a term is exactly 0, so that a sum needs it only where all of them hold: those of
// select(c, a, 0), and what both arms of an addition have alike. Products are not asked: 0 times infinity is NaN.
// Shown by tests/jit/ragged.cpp.
#pragma once
#include <algorithm>
#include <unordered_map>
#include <vector>

#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

class needed_conditions {
 public:
  explicit needed_conditions(const graph& g) : g_(g) {}

  const std::vector<node_id>& of(node_id term) {
    if (const auto found = known_.find(term); found != known_.end()) return found->second;
    std::vector<node_id> all = asked(term);
    return known_[term] = std::move(all);
  }

 private:
  std::vector<node_id> asked(node_id term) {
    switch (g_.kind(term)) {
      case op::neg:
      case op::cast: return of(g_.arg(term, 0));
      case op::add:
      case op::sub: return of_both(of(g_.arg(term, 0)), g_.arg(term, 1));
      case op::select: return is_number(g_, g_.arg(term, 2), 0) ? of_choice(term) : std::vector<node_id>();
      default: return {};
    }
  }
  std::vector<node_id> of_choice(node_id term) {
    std::vector<node_id> all = of(g_.arg(term, 1));
    flat<node_id> list;
    deltas::conjuncts(g_, g_.arg(term, 0), list);
    all.insert(all.end(), list.begin(), list.end());
    return all;
  }
  std::vector<node_id> of_both(std::vector<node_id> all, node_id second) {
    if (all.empty()) return all;
    const std::vector<node_id>& other = of(second);
    std::erase_if(all, [&](node_id c) { return std::ranges::find(other, c) == other.end(); });
    return all;
  }

  const graph& g_;
  std::unordered_map<node_id, std::vector<node_id>> known_;
};

}  // namespace sheaf::inline v0_1::plan
