// Expressions with loads that checks vouch for as proven ones: in the definitions and the ranges that they read too, or
// in what they say themselves. What is inside by ranges alone needs no proof. Shown by tests/ir/checks.cpp,
// tests/jit/vouched.cpp.
#pragma once
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <sheaf/jit/plan/bounds.hpp>

namespace sheaf::inline v0_1::plan {

class proving {
 public:
  enum class in : std::uint8_t { all_it_reads, itself };

  proving(graph& g, const std::vector<node_id>& loads, in where) : g_(g), where_(where) {
    for (const node_id n : loads)
      if (!is_inside(g, n)) proven_.insert(n);
  }

  // A subscript that a check lets pass where it is not evaluated: it is moved inside.
  void move_inside(node_id load, std::vector<int> dimensions) { moved_[load] = std::move(dimensions); }

  node_id operator()(node_id n) {
    if (where_ == in::itself && !is_of_expression(g_.kind(n))) return n;
    if (const auto found = done_.find(n); found != done_.end()) return found->second;
    const node old = g_[n];
    flat<node_id> list;
    bool same = true;
    for (int k = 0; k < old.count; ++k) {
      list.push((*this)(g_.arg(n, k)));
      same = same && list.back() == g_.arg(n, k);
    }
    if (const auto moved = moved_.find(n); moved != moved_.end())
      for (const int d : moved->second) list[1 + d] = inside(list[0], d, list[1 + d]), same = false;
    const node_id made = same ? n : g_.intern(old.kind, old.type, old.attribute, list.data(), old.count);
    return done_[n] = proven_.contains(n) ? proven(g_, made) : made;
  }

 private:
  static bool is_of_expression(op kind) {
    return kind == op::load || kind == op::reduce || kind == op::tuple || is_elementwise(kind);
  }

  node_id inside(node_id tensor, int d, node_id e) {
    const node_id low = low_of(g_, tensor, d), last = make(g_, op::sub, high_of(g_, tensor, d), integer(g_, 1));
    return make(g_, op::maximum, make(g_, op::minimum, e, last), low);
  }

  graph& g_;
  in where_;
  std::unordered_set<node_id> proven_;
  std::unordered_map<node_id, std::vector<int>> moved_;
  std::unordered_map<node_id, node_id> done_;
};

}  // namespace sheaf::inline v0_1::plan
