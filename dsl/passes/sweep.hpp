// What the gradients of one value share: the adjoints of the nodes between. A second gradient of the same y derives the
// adjoints of those nodes only that no earlier one passed; so all gradients of a program cost one sweep.
// Input: a graph, y and x. Output: marks of the nodes that differentiate.hpp visits, and what it left there. Shown by
// tests/static/sweep.cpp.
#pragma once
#include <sheaf/dsl/graph/make.hpp>

namespace sheaf::inline v0_1 {

// Adjoints of one y with one cotangent.
struct reverse_sweep {
  node_id y = no_node, seed = no_node;
  flat<node_id> adjoint;  // by node up to y
  flat<bool> settled;     // its adjoint has all its parts
  // Running folds and rules give parts to nodes that depend on what is differentiated by: then nothing is shared.
  bool alone = false;

  constexpr void restart() {
    for (int n = 0; n < settled.size(); ++n) {
      adjoint[n] = no_node;
      settled[n] = false;
    }
  }
};

class reverse_sweeps {
 public:
  constexpr reverse_sweep& of(node_id y, node_id seed) {
    int k = 0;
    while (k < all_.size() && (all_[k].y != y || all_[k].seed != seed)) ++k;
    if (k == all_.size()) {
      all_.push({});
      all_[k].y = y;
      all_[k].seed = seed;
      all_[k].adjoint.resize(y + 1, no_node);
      all_[k].settled.resize(y + 1, false);
    }
    if (all_[k].alone) all_[k].restart();
    return all_[k];
  }

 private:
  flat<reverse_sweep> all_;
};

// Which nodes reach x through floating values; which of them wait for their adjoints; which give parts to one that
// does. x itself always waits, for its gradient has a form of its own.
class sweep_marks {
 public:
  constexpr sweep_marks(const graph& g, const reverse_sweep& shared, node_id x) : first_(x) {
    const int count = shared.y - x + 1;
    if (count <= 0) return;
    marks_.resize(count, 0);
    for (int k = 0; k < count; ++k) {
      const node_id n = x + k;
      unsigned char m = k == 0 ? static_cast<unsigned char>(dependent | waits) : of_node(g, n);
      if ((m & dependent) != 0 && !shared.settled.items[n]) m |= waits;
      marks_.items[k] = m;
    }
  }
  constexpr bool depends(node_id n) const { return has(n, dependent); }
  constexpr bool is_waiting(node_id n) const { return has(n, waits); }
  constexpr bool is_giving(node_id n) const { return has(n, gives); }

 private:
  static constexpr unsigned char dependent = 1, waits = 2, gives = 4;

  constexpr bool has(node_id n, unsigned char bit) const {
    return n >= first_ && n - first_ < marks_.size() && (marks_.items[n - first_] & bit) != 0;
  }
  // What comes from an argument: that it depends, and gives to it if it waits.
  constexpr unsigned char through(node_id argument) const {
    if (argument < first_) return 0;
    const unsigned char m = marks_.items[argument - first_];
    return static_cast<unsigned char>((m & dependent) | ((m & waits) != 0 ? gives : 0));
  }
  constexpr unsigned char of_node(const graph& g, node_id n) const {
    const node& at = g.nodes.items[n];
    const node_id* list = g.args.items + at.first;
    if (at.kind == op::load) return through(list[0]);
    if (at.kind == op::stop_gradient) return at.count >= 2 ? through(list[1]) : static_cast<unsigned char>(0);
    if (at.kind == op::index) return 0;
    unsigned char m = 0;
    if (at.kind == op::define && g.rule_of(n) >= 0) {
      for (const gradient_rule& r : g.rules)
        if (r.definition == n && r.by < n) m |= through(r.by);
      return m;
    }
    if (!is_floating(at.type)) return 0;
    for (int k = 0; k < at.count; ++k) m |= through(list[k]);
    return m;
  }

  node_id first_;
  flat<unsigned char> marks_;  // from x on
};

}  // namespace sheaf::inline v0_1
